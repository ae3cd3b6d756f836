/* Convolution in groups in plain C: plans for cores without MVE have products of patches instead.

   Packed weights begin with the channels of a group, then the bytes from a block of its filters to that of
   the next group and to its own next one. A block has, of two filters if they have few products, else of
   four, biases, multipliers and shifts; then 16 weights of each in turn, of kernel columns, kernel rows,
   channels. */
#include "cmrt/isa.h"

#include <stdbool.h>

enum { CHUNK = 16, SHALLOW = 32 };

/* The sum of one filter's products for the window at column `left`, from `channel` on.

   step: from a chunk of the filter's weights to the next. */
static int32_t accumulate(const struct cm_depthwise *d, const int32_t *rows, int32_t left, int32_t channel,
                          int32_t group, const int8_t *weights, int32_t step)
{
    int32_t sum = 0, place = 0;
    for (int32_t kx = 0; kx < d->kernel_width; ++kx)
        for (int32_t ky = 0; ky < d->kernel_height; ++ky) {
            const int32_t row = rows[ky * d->dilation_height], column = left + kx;
            const bool is_inside = row != CM_NO_ROW && column >= 0 && column < d->input_width;
            const int32_t first = is_inside ? row + column * d->input_channels + channel : 0;
            for (int32_t i = 0; i < group; ++i, ++place)
                sum += (is_inside ? d->input[first + i] : d->input_zero_point) *
                       weights[place / CHUNK * step + place % CHUNK];
        }
    return sum;
}

static void convolve_pixel(const struct cm_depthwise *d, const int32_t *rows, int32_t left, int8_t *out)
{
    const int32_t *head = d->weights;
    const int32_t group = head[0], each = d->channels / (d->input_channels / group);
    const int32_t depth = d->kernel_height * d->kernel_width * group, size = depth <= SHALLOW ? 2 : 4;
    const int8_t *weights = (const int8_t *)(head + 3);
    for (int32_t channel = 0; channel < d->input_channels; channel += group, weights += head[1])
        for (int32_t f = 0; f < each; ++f) {
            const int32_t *const block = (const int32_t *)(const void *)(weights + f / size * head[2]);
            const int32_t *const scales = block + f % size;
            const int8_t *const taps = (const int8_t *)(block + 3 * size) + f % size * CHUNK;
            int32_t sum = accumulate(d, rows, left, channel, group, taps, size * CHUNK);
            sum = cm_wrapping_add(sum, scales[0]);
            *out++ = cm_output_s8(&d->output, sum, scales[size], scales[2 * size]);
        }
}

void cm_isa_grouped_s8(const struct cm_depthwise *d)
{
    for (int32_t r = 0; r < d->band; ++r)
        for (int32_t x = 0; x < d->out_width; ++x)
            convolve_pixel(d, d->input_rows + r * d->stride_height, x * d->stride_width - d->pad_left,
                           d->out + d->out_rows[r] + x * d->channels);
}

void cm_isa_grouped_s8_half_up(const struct cm_depthwise *d)
{
    cm_isa_grouped_s8(d);
}
