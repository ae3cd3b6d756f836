/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MATMUL_F32_H
#define CMRT_ARGS_MATMUL_F32_H

#include "cmrt/args/side.h"
#include "cmrt/program.h"

/* Two batches of float vectors, of which each is multiplied with all of the other side. */
struct cm_matmul_f32 {
    cm_ref taps;
    cm_ref output;
    cm_ref addend;
    int32_t tap_count;
    int32_t blocks;
    int32_t batch;
    struct cm_side rows;
    struct cm_side lanes;
    int32_t row_count;
    int32_t lane_count;
    int32_t output_batch;
    int32_t output_row;
    int32_t output_lane;
    int32_t addend_batch;
    int32_t addend_row;
    int32_t addend_lane;
    uint32_t alpha;
    uint32_t beta;
};

#endif
