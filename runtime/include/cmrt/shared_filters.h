/* Depthwise convolution with several filters for each channel, two at a time, pixel by pixel. */
#ifndef CMRT_SHARED_FILTERS_H
#define CMRT_SHARED_FILTERS_H

#include "cmrt/taps.h"

#include <string.h>

/* Packed are, of two filters of a channel, their biases, then the weights of an even number of taps as the
   instruction set has them, four bytes for both filters' weights of a tap; then this. */
struct cm_rescaling {
    int32_t multiplier[2], shift[2];
    int32_t second; /* whether there is a second filter */
    int32_t step;   /* 1 if the next filters are those of the next channel */
};

/* What the outputs of a pixel are made of. */
struct cm_pixel {
    const int8_t *const *taps;
    int32_t bytes; /* of the weights of two filters */
    int8_t *out;
    const int8_t *end; /* of packed weights */
    const int8_t *packed;
    int32_t first; /* offset of the pixel from the taps */
};

static inline __attribute__((always_inline)) void
cm_convolve_pixels(const struct cm_depthwise *d,
                   void (*convolve)(const struct cm_output *output, const struct cm_pixel *pixel))
{
    const int32_t area = d->kernel_height * d->kernel_width, slots = (area + 1) & ~1;
    const int32_t reach = (d->kernel_width - 1) * d->dilation_width,
                  step = d->stride_width * d->input_channels;
    const int8_t **taps = d->workspace;
    int8_t *padding = (int8_t *)(taps + slots);
    int32_t pairs = 0; /* of the filters of a channel */
    for (int32_t c = 0; c < d->channels; c += 2 * d->input_channels)
        ++pairs;
    const int32_t bytes = 8 + 4 * slots + (int32_t)sizeof(struct cm_rescaling);
    struct cm_pixel pixel = {
        .taps = taps,
        .bytes = 4 * slots,
        .packed = d->weights,
        .end = (const int8_t *)d->weights + pairs * d->input_channels * bytes,
    };
    memset(padding, d->input_zero_point, (size_t)d->input_channels);
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        /* The last columns whose windows lie inside; none if rows do not. */
        const int32_t end = cm_are_rows_inside(d, rows) ? d->input_width - reach : 0;
        pixel.out = d->out + d->out_rows[r];
        for (int32_t x = 0, left = -d->pad_left; x < d->out_width; ++x, left += d->stride_width) {
            pixel.first += step;
            if (left < d->stride_width || left >= end) {
                cm_find_taps(d, rows, left, padding, taps);
                pixel.first = 0;
                if (area % 2 != 0)
                    taps[area] = *taps; /* times 0 */
            }
            convolve(&d->output, &pixel);
            pixel.out += d->channels;
        }
    }
}

#endif
