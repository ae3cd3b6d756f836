/* int8 matrix product without SIMD. */
#include "cmrt/isa.h"
#include "row_product.h"

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    uint8_t *row = gemm->workspace;
    int32_t depth = (gemm->depth + DEPTHS - 1) & -DEPTHS;
    for (int32_t r = 0; r < gemm->rows; ++r) {
        uint32_t excess = 128 * shift_row(row, gemm->lhs + r * gemm->lhs_stride, gemm->depth);
        int8_t *out = gemm->out + r * gemm->out_stride;
        const uint8_t *packed = gemm->weights;
        for (int32_t c = 0; c < gemm->columns; c += COLUMNS) {
            const struct block *block = (const struct block *)(const void *)packed;
            const uint8_t *weights = packed + sizeof *block;
            struct sums sums = multiply(row, weights, depth);
            int32_t count = gemm->columns - c < COLUMNS ? gemm->columns - c : COLUMNS;
            for (int32_t i = 0; i < count; ++i) {
                uint32_t sum = sums.column[i] - excess + (uint32_t)block->bias[i];
                *out++ = cm_output_s8(&gemm->output, (int32_t)sum, block->multiplier[i], block->shift[i]);
            }
            packed = weights + COLUMNS * depth;
        }
    }
}
