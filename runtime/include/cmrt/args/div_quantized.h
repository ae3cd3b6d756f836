/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_DIV_QUANTIZED_H
#define CMRT_ARGS_DIV_QUANTIZED_H

#include "cmrt/program.h"

/* Quotients of two quantised elements, in floats. */
struct cm_div_quantized {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* bytes of an element: 1 or 2 */
    int32_t size;
    /* in elements, 0 or 1 */
    int32_t lhs_step;
    int32_t rhs_step;
    int32_t lhs_zero_point;
    int32_t rhs_zero_point;
    int32_t zero_point;
    uint32_t scale;
    int32_t minimum;
    int32_t maximum;
};

#endif
