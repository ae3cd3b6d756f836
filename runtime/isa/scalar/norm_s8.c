#include "cmrt/arithmetic.h"
#include "cmrt/norm.h"

void cm_isa_moments_s8(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    int32_t total = 0, total_squares = 0;
    for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += group->step)
        for (int32_t i = 0; i < group->channels; ++i) {
            int32_t x = in[i];
            total += x;
            total_squares += x * x;
        }
    *sum += total;
    *squares += total_squares;
}

void cm_isa_norm_s8(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                    const int32_t *multipliers, const int32_t *biases, int8_t *out)
{
    const struct cm_norm by = *norm;
    int32_t half = 1 << by.shift >> 1;
    for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += group->step, out += group->step)
        for (int32_t i = 0; i < group->channels; ++i) {
            uint32_t distance = (uint32_t)in[i] * (uint32_t)by.factor - (uint32_t)by.offset;
            int32_t normalized = cm_doubling_high_multiply((int32_t)distance, by.inverse);
            int32_t scaled = cm_doubling_high_multiply(normalized, multipliers[i]) + biases[i];
            out[i] = (int8_t)cm_clamp(((scaled + half) >> by.shift) + by.zero_point, INT8_MIN, INT8_MAX);
        }
}
