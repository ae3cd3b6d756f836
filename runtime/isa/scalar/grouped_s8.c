/* Convolution in groups in plain C: plans for cores without MVE have products of patches instead.

   Packed weights begin with the channels of a group. Then follow, of two filters each, bias, left shift,
   multiplier, whether halves are rounded away from zero, shift to the right; then 16 weights of each in turn.
 */
#include "cmrt/isa.h"

#include <stdbool.h>

struct scale {
    int32_t bias, left, multiplier, is_away, right;
};

/* The sum of one filter's products for the window at column `left`, from `channel` on. */
static int32_t accumulate(const struct cm_depthwise *d, const int32_t *rows, int32_t left, int32_t channel,
                          int32_t group, const int8_t *weights)
{
    int32_t sum = 0, place = 0;
    for (int32_t ky = 0; ky < d->kernel_height; ++ky)
        for (int32_t kx = 0; kx < d->kernel_width; ++kx) {
            const int32_t row = rows[ky * d->dilation_height], column = left + kx * d->dilation_width;
            const bool is_inside = row != CM_NO_ROW && column >= 0 && column < d->input_width;
            const int32_t first = is_inside ? row + column * d->input_channels + channel : 0;
            for (int32_t i = 0; i < group; ++i, ++place)
                sum += (is_inside ? d->input[first + i] : d->input_zero_point) *
                       weights[place / 16 * 32 + place % 16];
        }
    return sum;
}

static void convolve_pixel(const struct cm_depthwise *d, const int32_t *rows, int32_t left, int8_t *out)
{
    const int32_t *packed = d->weights;
    const int32_t group = *packed++, each = d->channels / (d->input_channels / group);
    const int32_t products = d->kernel_height * d->kernel_width * group;
    for (int32_t channel = 0; channel < d->input_channels; channel += group)
        for (int32_t f = 0; f < each; f += 2) {
            const struct scale *scales = (const struct scale *)(const void *)packed;
            const int8_t *weights = (const int8_t *)(scales + 2);
            for (int32_t i = 0; i < 2 && f + i < each; ++i) {
                int32_t sum = accumulate(d, rows, left, channel, group, weights + 16 * i);
                sum = cm_wrapping_add(sum, scales[i].bias);
                *out++ =
                    cm_output_s8(&d->output, sum, scales[i].multiplier, scales[i].left + scales[i].right);
            }
            packed = (const int32_t *)(const void *)(weights + (products + 15) / 16 * 32);
        }
}

void cm_isa_grouped_s8(const struct cm_depthwise *d)
{
    for (int32_t r = 0; r < d->band; ++r)
        for (int32_t x = 0; x < d->out_width; ++x)
            convolve_pixel(d, d->input_rows + r * d->stride_height, x * d->stride_width - d->pad_left,
                           d->out + d->out_rows[r] + x * d->channels);
}
