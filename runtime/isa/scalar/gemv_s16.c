/* int16 gates of one int8 row without SIMD. */
#include "cmrt/gates.h"
#include "cmrt/isa.h"
#include "row_product.h"

static inline int32_t scale(int32_t sum, int32_t multiplier, int32_t shift)
{
    return cm_clamp(cm_requantize(sum, multiplier, shift), 2 * INT16_MIN, 2 * INT16_MAX + 1);
}

void cm_isa_gemv_s16(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                     void *workspace)
{
    int32_t depth = (weights->depth + DEPTHS - 1) & -DEPTHS;
    uint32_t offset = 128 * shift_row(workspace, row, weights->depth);
    const uint8_t *packed = weights->packed;
    int32_t is_right = weights->rounding != CM_ROUND_GENERAL;
    for (int32_t g = 0; g < weights->gates; g += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        packed += sizeof *block;
        struct sums sums = multiply(workspace, packed, depth);
        packed += COLUMNS * depth;
        int32_t count = weights->gates - g < COLUMNS ? weights->gates - g : COLUMNS;
        for (int32_t i = 0; i < count; ++i, ++gates) {
            int32_t sum = (int32_t)(sums.column[i] + offset + (uint32_t)block->bias[i]);
            int32_t scaled = is_right ? cm_scale_right(sum, block->multiplier[i], block->shift[i])
                                      : scale(sum, block->multiplier[i], block->shift[i]);
            *gates = cm_clamp_s16(*gates + scaled);
        }
    }
}
