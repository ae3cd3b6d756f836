/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SQUARED_DIFFERENCE_S16_H
#define CMRT_ARGS_SQUARED_DIFFERENCE_S16_H

#include "cmrt/program.h"

/* Squared differences of two int16 elements, each rescaled by 0.5 at most. */
struct cm_squared_difference_s16 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 1, or 0 to repeat one element */
    int32_t rhs_step;
    int32_t lhs_multiplier;
    int32_t lhs_shift;
    int32_t rhs_multiplier;
    int32_t rhs_shift;
    int32_t multiplier;
    int32_t shift;
};

#endif
