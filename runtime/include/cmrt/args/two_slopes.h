/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_TWO_SLOPES_H
#define CMRT_ARGS_TWO_SLOPES_H

#include "cmrt/program.h"

/* Elements of an integer type, rescaled to another. */
struct cm_two_slopes {
    cm_ref input;
    cm_ref output;
    int32_t count;
    /* enum cm_element */
    int32_t source;
    /* enum cm_element */
    int32_t to;
    int32_t before;
    int32_t after;
    /* of negative numbers before they are multiplied */
    int32_t below_sign;
    int32_t below_multiplier;
    int32_t below_shift;
    int32_t above_multiplier;
    int32_t above_shift;
    int32_t minimum;
    int32_t maximum;
};

#endif
