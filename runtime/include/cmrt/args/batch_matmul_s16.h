/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_BATCH_MATMUL_S16_H
#define CMRT_ARGS_BATCH_MATMUL_S16_H

#include "cmrt/program.h"

/* Products of int16 matrices, the second one transposed. */
struct cm_batch_matmul_s16 {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    int32_t batch;
    int32_t rows;
    int32_t columns;
    int32_t depth;
    /* of 15 bits */
    int32_t multiplier;
    int32_t shift;
};

#endif
