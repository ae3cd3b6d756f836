/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_BATCH_MATMUL_H
#define CMRT_ARGS_BATCH_MATMUL_H

#include "cmrt/program.h"

/* Products of int8 matrices, the second one transposed. */
struct cm_batch_matmul {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref workspace;
    int32_t batch;
    int32_t rows;
    int32_t columns;
    int32_t depth;
    int32_t lhs_offset;
    int32_t rhs_offset;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
    int32_t rounding;
};

#endif
