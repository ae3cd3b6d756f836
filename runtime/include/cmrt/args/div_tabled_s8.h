/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_DIV_TABLED_S8_H
#define CMRT_ARGS_DIV_TABLED_S8_H

#include "cmrt/program.h"

/* Quotients of two int8 elements by a factor for each divisor. */
struct cm_div_tabled_s8 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* 0 or 1 */
    int32_t lhs_step;
    int32_t rhs_step;
    /* of 256 int32, by the divisor's unsigned byte: see `divisor_factors` */
    cm_ref factors;
    int32_t lhs_zero_point;
    int32_t zero_point;
};

#endif
