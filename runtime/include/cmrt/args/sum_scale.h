/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SUM_SCALE_H
#define CMRT_ARGS_SUM_SCALE_H

#include <stdint.h>

/* From sums of stored numbers to int8. */
struct cm_sum_scale {
    int32_t input_offset;
    int32_t zero_point;
    int32_t multiplier;
    int32_t shift;
};

#endif
