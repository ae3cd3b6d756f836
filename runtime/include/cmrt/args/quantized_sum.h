/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZED_SUM_H
#define CMRT_ARGS_QUANTIZED_SUM_H

#include "cmrt/args/sum_scale.h"
#include "cmrt/program.h"

/* Sums over the members of [outer, members, inner]. */
struct cm_quantized_sum {
    cm_ref input;
    cm_ref output;
    cm_ref sums;
    int32_t outer;
    int32_t members;
    int32_t inner;
    struct cm_sum_scale scale;
};

#endif
