/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUOTIENT_S8_H
#define CMRT_ARGS_QUOTIENT_S8_H

#include "cmrt/program.h"

/* Quotients of two int8 elements. */
struct cm_quotient_s8 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 1, or 0 to repeat one element */
    int32_t rhs_step;
    /* of 256 int32, see `reciprocals` */
    cm_ref reciprocals;
    int32_t dividend_zero_point;
    int32_t divisor_zero_point;
    int32_t zero_point;
    int32_t multiplier;
    int32_t shift;
    /* whether the second operand is divided by the first */
    int32_t swapped;
};

#endif
