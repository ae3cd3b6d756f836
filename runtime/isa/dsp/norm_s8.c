#include "cmrt/norm.h"
#include "simd.h"

void cm_isa_moments_s8(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    const int32_t skipped = group->step - group->channels;
    for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += skipped) {
        int32_t count = group->channels;
        for (; count >= 4; count -= 4, in += 4) {
            uint32_t word = load_bytes(in), even = widen_even(word), odd = widen_odd(word);
            total = multiply_pairs(odd, 0x00010001, multiply_pairs(even, 0x00010001, total));
            total_squares = multiply_pairs(odd, odd, multiply_pairs(even, even, total_squares));
        }
        for (; count > 0; --count, ++in) {
            total += *in;
            total_squares += *in * *in;
        }
    }
    *sum = total;
    *squares = total_squares;
}

/* Distances and normalised elements are below 2^30, so that high products of the doubled ones round alike. */
void cm_isa_norm_s8(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                    const int32_t *multipliers, const int32_t *biases, int8_t *out)
{
    uint32_t factor = (uint32_t)norm->factor << 1, offset = (uint32_t)norm->offset << 1;
    int32_t inverse = norm->inverse, shift = norm->shift, zero_point = norm->zero_point;
    int32_t half = 1 << shift >> 1;
    for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += group->step, out += group->step)
        for (int32_t i = 0; i < group->channels; ++i) {
            int32_t distance = (int32_t)((uint32_t)in[i] * factor - offset);
            int32_t normalized = add_high_product(distance, inverse, 0);
            int32_t scaled =
                add_high_product((int32_t)((uint32_t)normalized << 1), multipliers[i], biases[i] + half);
            out[i] = saturate_s8((scaled >> shift) + zero_point);
        }
}
