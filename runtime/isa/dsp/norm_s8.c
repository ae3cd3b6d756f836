#include "cmrt/norm.h"
#include "simd.h"

void cm_isa_moments_s8(const int8_t *in, int32_t count, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    for (; count >= 4; count -= 4, in += 4) {
        uint32_t word = load_bytes(in), even = widen_even(word), odd = widen_odd(word);
        total = multiply_pairs(odd, 0x00010001, multiply_pairs(even, 0x00010001, total));
        total_squares = multiply_pairs(odd, odd, multiply_pairs(even, even, total_squares));
    }
    for (; count > 0; --count, ++in) {
        total += *in;
        total_squares += *in * *in;
    }
    *sum = total;
    *squares = total_squares;
}

/* Distances and normalised elements are below 2^30, so that high products of the doubled ones round alike. */
void cm_isa_norm_s8(const struct cm_norm *norm, const int8_t *in, const int32_t *multipliers,
                    const int32_t *biases, int8_t *out, int32_t count)
{
    uint32_t factor = (uint32_t)norm->factor << 1, offset = (uint32_t)norm->offset << 1;
    int32_t inverse = norm->inverse, shift = norm->shift, zero_point = norm->zero_point;
    int32_t half = 1 << shift >> 1;
    for (int32_t i = 0; i < count; ++i) {
        int32_t distance = (int32_t)((uint32_t)*in++ * factor - offset);
        int32_t normalized = add_high_product(distance, inverse, 0);
        int32_t scaled =
            add_high_product((int32_t)((uint32_t)normalized << 1), *multipliers++, *biases++ + half);
        *out++ = saturate_s8((scaled >> shift) + zero_point);
    }
}
