/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_ADD_S16_H
#define CMRT_ARGS_ADD_S16_H

#include "cmrt/program.h"

/* Sums or differences of two int16 elements, each rescaled by a multiplier of any sign. */
struct cm_add_s16 {
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
    int32_t minimum;
    int32_t maximum;
};

#endif
