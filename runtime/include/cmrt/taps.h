/* The taps of a depthwise convolution: the input pixels that a window sees. */
#ifndef CMRT_TAPS_H
#define CMRT_TAPS_H

#include "cmrt/isa.h"

#include <stdbool.h>

/* The addresses of the taps of an output pixel whose first input column is `left`. `rows` are the offsets of
   the window's input rows; taps outside the image are at `padding`. */
static inline void cm_find_taps(const struct cm_depthwise *d, const int32_t *rows, int32_t left,
                                const int8_t *padding, const int8_t **taps)
{
    const int32_t channels = d->input_channels, step = d->dilation_width * channels;
    const bool is_inside = left >= 0 && left + (d->kernel_width - 1) * d->dilation_width < d->input_width;
    for (int32_t ky = 0; ky < d->kernel_height; ++ky) {
        int32_t row = rows[ky * d->dilation_height];
        if (is_inside && row != CM_NO_ROW) {
            const int8_t *tap = d->input + row + left * channels;
            for (int32_t kx = 0; kx < d->kernel_width; ++kx, tap += step)
                *taps++ = tap;
            continue;
        }
        for (int32_t kx = 0; kx < d->kernel_width; ++kx) {
            int32_t column = left + kx * d->dilation_width;
            bool inside = row != CM_NO_ROW && column >= 0 && column < d->input_width;
            *taps++ = inside ? d->input + row + column * channels : padding;
        }
    }
}

/* Whether none of a window's rows is outside the image. */
static inline bool cm_are_rows_inside(const struct cm_depthwise *d, const int32_t *rows)
{
    for (int32_t ky = 0; ky < d->kernel_height; ++ky)
        if (rows[ky * d->dilation_height] == CM_NO_ROW)
            return false;
    return true;
}

/* The input columns that windows of `kernel` columns cover for output columns [x0, x0 + width): the first of
   them, and how many lie before, inside and after the image. */
struct cm_columns {
    int32_t first, before, inside, after;
};

static inline struct cm_columns cm_covered_columns(const struct cm_depthwise *d, int32_t kernel, int32_t x0,
                                                   int32_t width)
{
    int32_t first = x0 * d->stride_width - d->pad_left;
    int32_t count = (width - 1) * d->stride_width + kernel;
    int32_t before = first >= 0 ? 0 : -first < count ? -first : count;
    int32_t left = d->input_width - (first + before);
    int32_t inside = left < 0 ? 0 : left < count - before ? left : count - before;
    return (struct cm_columns){first, before, inside, count - before - inside};
}

#endif
