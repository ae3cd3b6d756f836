/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_ADD_AFFINE_S8_H
#define CMRT_ARGS_ADD_AFFINE_S8_H

#include "cmrt/program.h"

/* Sums for which one multiplication per operand gives the same results. */
struct cm_add_affine_s8 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 1, or 0 to repeat one element */
    int32_t rhs_step;
    int32_t lhs_factor;
    int32_t rhs_factor;
    int32_t offset;
    int32_t shift;
    int32_t minimum;
    int32_t maximum;
};

#endif
