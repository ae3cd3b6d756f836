/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZED_CUMSUM_H
#define CMRT_ARGS_QUANTIZED_CUMSUM_H

#include "cmrt/program.h"

/* Running sums of int8 or int16 rows, rescaled. */
struct cm_quantized_cumsum {
    cm_ref input;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* in elements */
    int32_t input_step;
    int32_t output_step;
    int32_t input_zero_point;
    int32_t zero_point;
    int32_t multiplier;
    int32_t shift;
};

#endif
