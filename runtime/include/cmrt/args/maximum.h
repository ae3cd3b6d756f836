/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MAXIMUM_H
#define CMRT_ARGS_MAXIMUM_H

#include "cmrt/program.h"

/* The larger of two elements. */
struct cm_maximum {
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
