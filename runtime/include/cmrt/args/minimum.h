/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MINIMUM_H
#define CMRT_ARGS_MINIMUM_H

#include "cmrt/program.h"

/* The smaller of two elements. */
struct cm_minimum {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 1, or 0 to repeat one element */
    int32_t rhs_step;
};

#endif
