/* int8 matrix product with MVE for depths of up to 32: four rows by two columns at a time. */
#include "cmrt/isa.h"
#include "dense_product.h"

#include <arm_mve.h>
#include <stdbool.h>

enum {
    ROWS = 4,                              /* at a time */
    MOST_STRIDE_OF_FOUR = (0xffff - 1) / 3 /* distances between outputs have 16 bits */
};

/* From row `first` on: whole fours of rows, or one row, four times. */
static void multiply_fours(const struct cm_gemm *gemm, shallow_loop *loop, int32_t first, int32_t fours)
{
    static const uint16_t rows[8] = {0, 0, 2, 2, 1, 1, 3, 3}; /* of lanes */
    const int32_t chunks = gemm->depth > CHUNK ? 2 : 1, pairs = gemm->columns / 2;
    const int32_t lhs_stride = gemm->lhs_stride, out_stride = gemm->out_stride;
    const uint16x8_t second = vandq_u16(vidupq_n_u16(0, 1), vdupq_n_u16(1));
    const uint16x8_t row = vmulq_n_u16(vldrhq_u16(rows), (uint16_t)(fours > 0 ? out_stride : 0));
    struct shallow shallow;
    shallow.lhs = gemm->lhs + first * lhs_stride;
    shallow.turns = fours > 0 ? fours - 1 : 0;
    shallow.row_step = (fours > 0 ? lhs_stride : 0) - (chunks - 1) * CHUNK;
    shallow.out_step = ROWS * out_stride;
    shallow.head = gemm->weights;
    shallow.pair_bytes = (int32_t)sizeof(struct pair) + chunks * 2 * CHUNK;
    shallow.out = gemm->out + first * out_stride;
    shallow.pairs = ~pairs;
    shallow.zero_point = gemm->output.zero_point;
    shallow.last = shallow.head + (pairs - 1) * shallow.pair_bytes;
    vstrhq_u16(shallow.offsets, vaddq_u16(row, second));
    if (pairs > 0)
        cm_mve_multiply_shallow(&shallow, loop);
    if (gemm->columns % 2 == 0)
        return;
    shallow.head += pairs * shallow.pair_bytes;
    shallow.out += 2 * pairs;
    shallow.pairs = ~1;
    shallow.last = shallow.head;
    vstrhq_u16(shallow.offsets, row);
    cm_mve_multiply_shallow(&shallow, loop);
}

/* The last four rows overlap those before, if the number of rows is not a multiple of four.

   fours, single: loops for four rows and for one. */
static void multiply(const struct cm_gemm *gemm, shallow_loop *fours, shallow_loop *single)
{
    int32_t rows = gemm->rows;
    if (rows >= ROWS && gemm->out_stride <= MOST_STRIDE_OF_FOUR) {
        multiply_fours(gemm, fours, 0, rows / ROWS);
        if (rows % ROWS != 0)
            multiply_fours(gemm, fours, rows - ROWS, 1);
        return;
    }
    for (int32_t row = 0; row < rows; ++row)
        multiply_fours(gemm, single, row, 0);
}

/* Of one chunk of depths. */
static bool is_one(const struct cm_gemm *gemm)
{
    return gemm->depth <= CHUNK;
}

void cm_isa_gemm_s8_shallow(const struct cm_gemm *gemm)
{
    shallow_loop *const loop = is_one(gemm) ? cm_mve_multiply_16_right : cm_mve_multiply_32_right;
    multiply(gemm, loop, loop);
}

void cm_isa_gemm_s8_shallow_half_up(const struct cm_gemm *gemm)
{
    shallow_loop *const loop = is_one(gemm) ? cm_mve_multiply_16_half_up : cm_mve_multiply_32_half_up;
    multiply(gemm, loop, loop);
}

void cm_isa_gemm_s8_shallow_dense(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_16_dense_right, cm_mve_multiply_16_right);
}

void cm_isa_gemm_s8_shallow_dense_half_up(const struct cm_gemm *gemm)
{
    if (!is_one(gemm))
        multiply(gemm, cm_mve_multiply_32_dense, cm_mve_multiply_32_half_up);
    else
        multiply(gemm, gemm->lhs_stride == CHUNK ? cm_mve_multiply_16_dense : cm_mve_multiply_8_dense,
                 cm_mve_multiply_16_half_up);
}
