/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SQUARED_DIFFERENCE_S8_H
#define CMRT_ARGS_SQUARED_DIFFERENCE_S8_H

#include "cmrt/program.h"

/* Squared differences of two int8 elements, each rescaled by a table. */
struct cm_squared_difference_s8 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 1, or 0 to repeat one element */
    int32_t rhs_step;
    /* of 256 int16, by the unsigned byte */
    cm_ref lhs_table;
    cm_ref rhs_table;
    int32_t zero_point;
    int32_t multiplier;
    int32_t shift;
};

#endif
