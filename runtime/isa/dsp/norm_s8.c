#include "cmrt/norm.h"
#include "simd.h"

/* Channels up to which a run has the pixels of one channel, not the channels of one pixel. */
#define FEW 4

static inline void add_strided(const int8_t *in, int32_t step, int32_t count, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    for (; count > 0; --count, in += step) {
        total += *in;
        total_squares += *in * *in;
    }
    *sum = total;
    *squares = total_squares;
}

static inline void add_run(const int8_t *in, int32_t count, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    for (; count >= 4; count -= 4, in += 4) {
        uint32_t word = load_bytes(in), even = widen_even(word), odd = widen_odd(word);
        total = multiply_pairs(odd, 0x00010001, multiply_pairs(even, 0x00010001, total));
        total_squares = multiply_pairs(odd, odd, multiply_pairs(even, even, total_squares));
    }
    *sum = total;
    *squares = total_squares;
    add_strided(in, 1, count, sum, squares);
}

void cm_isa_moments_s8(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    if (group->channels <= FEW)
        for (int32_t channel = 0; channel < group->channels; ++channel)
            add_strided(in + channel, group->step, group->pixels, sum, squares);
    else
        for (int32_t pixel = 0; pixel < group->pixels; ++pixel)
            add_run(in + pixel * group->step, group->channels, sum, squares);
}

/* Inlined where the steps are known: of the elements, and of their parameters. Distances and normalised
   elements are below 2^30, so that high products of the doubled ones round alike. */
static inline __attribute__((always_inline)) void
normalize_run(const struct cm_norm *norm, const int8_t *in, int8_t *out, int32_t step,
              const int32_t *multipliers, const int32_t *biases, int32_t parameter_step, int32_t count)
{
    uint32_t factor = (uint32_t)norm->factor << 1, offset = (uint32_t)norm->offset << 1;
    int32_t inverse = norm->inverse, shift = norm->shift, zero_point = norm->zero_point;
    int32_t half = 1 << shift >> 1;
    for (; count > 0; --count) {
        int32_t distance = (int32_t)((uint32_t)*in * factor - offset);
        int32_t normalized = add_high_product(distance, inverse, 0);
        int32_t scaled = add_high_product((int32_t)((uint32_t)normalized << 1), *multipliers, *biases + half);
        *out = saturate_s8((scaled >> shift) + zero_point);
        in += step;
        out += step;
        multipliers += parameter_step;
        biases += parameter_step;
    }
}

void cm_isa_norm_s8(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                    const int32_t *multipliers, const int32_t *biases, int8_t *out)
{
    if (group->channels <= FEW)
        for (int32_t channel = 0; channel < group->channels; ++channel) {
            const int32_t multiplier = multipliers[channel], bias = biases[channel];
            normalize_run(norm, in + channel, out + channel, group->step, &multiplier, &bias, 0,
                          group->pixels);
        }
    else
        for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += group->step, out += group->step)
            normalize_run(norm, in, out, 1, multipliers, biases, 1, group->channels);
}
