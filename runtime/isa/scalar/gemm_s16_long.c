/* Matrix product of int16 rows by int8 weights, with sums of any size. */
#include "cmrt/isa.h"
#include "cmrt/short_output.h"

enum { COLUMNS = 4 };

struct block {
    uint32_t bias[COLUMNS][2]; /* low and high halves */
    int32_t multiplier[COLUMNS], shift[COLUMNS];
};

void cm_isa_gemm_s16_long(const struct cm_gemm *gemm)
{
    const int32_t depth = gemm->depth / (int32_t)sizeof(int16_t);
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t);
    const struct cm_short_range *range = gemm->weights;
    for (int32_t row = 0; row < gemm->rows; ++row) {
        const int16_t *lhs = (const int16_t *)(const void *)(gemm->lhs + row * gemm->lhs_stride);
        int16_t *out = (int16_t *)(void *)(gemm->out + row * gemm->out_stride);
        const struct block *block = (const struct block *)(range + 1);
        for (int32_t column = 0; column < columns; column += COLUMNS) {
            const int8_t *weights = (const int8_t *)(block + 1);
            for (int32_t i = 0; i < COLUMNS && column + i < columns; ++i) {
                int64_t sum = (int64_t)((uint64_t)block->bias[i][1] << 32 | block->bias[i][0]);
                for (int32_t k = 0; k < depth; ++k)
                    sum += lhs[k] * weights[k * COLUMNS + i];
                int32_t scaled = range->is_long != 0
                                     ? cm_scale_long(sum, block->multiplier[i], block->shift[i])
                                     : cm_requantize((int32_t)sum, block->multiplier[i], block->shift[i]);
                out[column + i] = (int16_t)cm_clamp(scaled, range->minimum, range->maximum);
            }
            block = (const struct block *)(const void *)(weights + depth * COLUMNS);
        }
    }
}
