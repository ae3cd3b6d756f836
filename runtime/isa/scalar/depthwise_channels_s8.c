/* Depthwise convolution of some channels in plain C.

   Packed weights are a number of channels and these; then of each, twice, bias, left shift, multiplier,
   whether halves are rounded away from zero, shift to the right; then its weights, up to a multiple of eight,
   twice. */
#include "cmrt/isa.h"

#include <stdbool.h>

struct scale {
    int32_t bias, left, multiplier, is_away, right;
};

/* The window from column `left` on. */
static inline int32_t accumulate(const struct cm_depthwise *d, const int32_t *rows, int32_t left,
                                 int32_t channel, const int8_t *weights)
{
    const int32_t step = d->dilation_width * d->input_channels, kernel_width = d->kernel_width;
    const bool is_inside = left >= 0 && left + (kernel_width - 1) * d->dilation_width < d->input_width;
    int32_t sum = 0;
    for (int32_t ky = d->kernel_height; ky > 0; --ky, rows += d->dilation_height) {
        if (*rows != CM_NO_ROW && is_inside) {
            const int8_t *tap = d->input + *rows + left * d->input_channels + channel;
            for (int32_t kx = kernel_width; kx > 0; --kx, tap += step)
                sum += *tap * *weights++;
            continue;
        }
        for (int32_t kx = kernel_width, column = left; kx > 0; --kx, column += d->dilation_width) {
            int32_t value = d->input_zero_point;
            if (*rows != CM_NO_ROW && column >= 0 && column < d->input_width)
                value = d->input[*rows + column * d->input_channels + channel];
            sum += value * *weights++;
        }
    }
    return sum;
}

void cm_isa_depthwise_channels_s8(const struct cm_depthwise *d)
{
    const int32_t *head = d->weights, count = *head++;
    const int32_t bytes = (d->kernel_height * d->kernel_width + 7) / 8 * 16;
    for (int32_t r = 0; r < d->band; ++r)
        for (int32_t x = 0; x < d->out_width; ++x) {
            const int8_t *packed = (const int8_t *)(head + count);
            for (int32_t i = 0; i < count; ++i, packed += bytes) {
                const struct scale *scale = (const struct scale *)(const void *)packed;
                packed = (const int8_t *)(scale + 2);
                int32_t sum = accumulate(d, d->input_rows + r * d->stride_height,
                                         x * d->stride_width - d->pad_left, head[i], packed);
                d->out[d->out_rows[r] + x * d->channels + head[i]] =
                    cm_output_s8(&d->output, cm_wrapping_add(sum, scale->bias), scale->multiplier,
                                 scale->left + scale->right);
            }
        }
}
