/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_CUMSUM_H
#define CMRT_ARGS_CUMSUM_H

#include "cmrt/program.h"

/* Running sums or products along rows. */
struct cm_cumsum {
    cm_ref input;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* in elements */
    int32_t input_step;
    int32_t output_step;
    /* of the input, enum cm_element */
    int32_t type;
    /* instead of the sum */
    int32_t product;
};

#endif
