/* Depthwise convolution without SIMD: one output at a time, through a table of its taps. */
#include "cmrt/taps.h"

#include <string.h>

/* One channel: the weights of its taps follow, zeros up to a multiple of four bytes. */
struct filter {
    int32_t bias, multiplier, shift;
};

/* Sum of the products of `area` taps at one channel. */
static inline int32_t accumulate(const int8_t *const *taps, int32_t channel, const int8_t *weights,
                                 int32_t area)
{
    int32_t sum = 0;
    for (; area >= 3; area -= 3, taps += 3, weights += 3) {
        sum += taps[0][channel] * weights[0];
        sum += taps[1][channel] * weights[1];
        sum += taps[2][channel] * weights[2];
    }
    for (; area > 0; --area)
        sum += (*taps++)[channel] * *weights++;
    return sum;
}

/* One output pixel. */
static void convolve_pixel(const struct cm_depthwise *d, const int8_t *const *taps, int32_t area, int8_t *out)
{
    const int8_t *packed = d->weights;
    for (int32_t c = 0; c < d->channels; ++c) {
        const struct filter *filter = (const struct filter *)(const void *)packed;
        const int8_t *weights = packed + sizeof *filter;
        int32_t sum = cm_wrapping_add(accumulate(taps, c, weights, area), filter->bias);
        out[c] = cm_output_s8(&d->output, sum, filter->multiplier, filter->shift);
        packed = weights + ((area + 3) & -4);
    }
}

void cm_isa_depthwise_s8(const struct cm_depthwise *d)
{
    int32_t area = d->kernel_height * d->kernel_width;
    const int8_t **taps = d->workspace;
    int8_t *padding = (int8_t *)(taps + area);
    memset(padding, d->input_zero_point, (size_t)d->channels);
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        int8_t *out = d->out + d->out_rows[r];
        for (int32_t x = 0; x < d->out_width; ++x, out += d->channels) {
            cm_find_taps(d, rows, x * d->stride_width - d->pad_left, padding, taps);
            convolve_pixel(d, taps, area, out);
        }
    }
}
