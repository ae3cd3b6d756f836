/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MUL_S16_H
#define CMRT_ARGS_MUL_S16_H

#include "cmrt/program.h"

/* Products of two int16 elements, rescaled. */
struct cm_mul_s16 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 1, or 0 to repeat one element */
    int32_t rhs_step;
    int32_t multiplier;
    int32_t shift;
    int32_t minimum;
    int32_t maximum;
};

#endif
