/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_PAIR_OPERANDS_H
#define CMRT_ARGS_PAIR_OPERANDS_H

#include "cmrt/program.h"

/* The fields that the argument structs of all pairs begin with. */
struct cm_pair_operands {
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
