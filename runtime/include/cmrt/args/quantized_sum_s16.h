/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZED_SUM_S16_H
#define CMRT_ARGS_QUANTIZED_SUM_S16_H

#include "cmrt/program.h"

/* Sums over the members of int16 [outer, members, inner]. */
struct cm_quantized_sum_s16 {
    cm_ref input;
    cm_ref output;
    int32_t outer;
    int32_t members;
    int32_t inner;
    int32_t multiplier;
    int32_t shift;
};

#endif
