#include "cmrt/arithmetic.h"
#include "cmrt/norm.h"

void cm_isa_moments_s8(const int8_t *in, int32_t count, int32_t *sum, int32_t *squares)
{
    int32_t total = 0, total_squares = 0;
    for (int32_t i = 0; i < count; ++i) {
        int32_t x = in[i];
        total += x;
        total_squares += x * x;
    }
    *sum += total;
    *squares += total_squares;
}

void cm_isa_norm_s8(const struct cm_norm *norm, const int8_t *in, const int32_t *multipliers,
                    const int32_t *biases, int8_t *out, int32_t count)
{
    int32_t half = 1 << norm->shift >> 1;
    for (int32_t i = 0; i < count; ++i) {
        uint32_t distance = (uint32_t)in[i] * (uint32_t)norm->factor - (uint32_t)norm->offset;
        int32_t normalized = cm_doubling_high_multiply((int32_t)distance, norm->inverse);
        int32_t scaled = cm_doubling_high_multiply(normalized, multipliers[i]) + biases[i];
        out[i] = (int8_t)cm_clamp(((scaled + half) >> norm->shift) + norm->zero_point, INT8_MIN, INT8_MAX);
    }
}
