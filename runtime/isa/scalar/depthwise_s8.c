/* Depthwise convolution without SIMD: one output at a time, through a table of its taps.

   The taps of pixels that lie inside follow each other: they are found for the first one. */
#include "cmrt/taps.h"
#include "output.h"

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

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#define LOAD_TAP "ldrsb "
#include "depthwise_pixel.h"

/* For nine taps, and for up to four or eight, with weights of 0 up to these. */
convolve_function cm_scalar_convolve_nine, cm_scalar_convolve_four, cm_scalar_convolve_eight;
/* clang-format off */
#define OUTPUT_BYTE OUTPUT("[r2, #4]", "[r2, #8]") STORE_OUTPUT("strb")

PIXEL_FUNCTION(cm_scalar_convolve_nine, CONVOLVE, "24", OUTPUT_BYTE, "1");
#ifndef __thumb2__
PIXEL_FUNCTION(cm_scalar_convolve_four, ADD_FOUR_TAPS("[r2, #12]") "mov r0, r8\n", "16", OUTPUT_BYTE, "1");
PIXEL_FUNCTION(cm_scalar_convolve_eight, ADD_FOUR_TAPS("[r2, #12]") ADD_FOUR_TAPS("[r2, #16]") "mov r0, r8\n", "20", OUTPUT_BYTE, "1");
#endif
/* clang-format on */

/* The function for so many taps, or NULL. */
static convolve_function *function_of(int32_t area)
{
    if (area == 9)
        return cm_scalar_convolve_nine;
#ifndef __thumb2__
    if (area > 1 && area <= 8)
        return area <= 4 ? cm_scalar_convolve_four : cm_scalar_convolve_eight;
#endif
    return NULL;
}
#endif

/* One output of each channel. `first` is the offset of the pixel from the taps. */
static void convolve_pixel(const struct cm_depthwise *d, const int8_t *packed, const int8_t *const *taps,
                           int32_t first, int32_t area, int8_t *out)
{
#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
    convolve_function *function = function_of(area);
    if (function != NULL && d->output.rounding != CM_ROUND_GENERAL) {
        struct pixel pixel = {packed, taps, limits_of(&d->output), first + d->channels};
        function(&pixel, out - first, first);
        return;
    }
#endif
    for (int32_t c = 0; c < d->channels; ++c) {
        const struct filter *filter = (const struct filter *)(const void *)packed;
        const int8_t *weights = packed + sizeof *filter;
        int32_t sum = cm_wrapping_add(accumulate(taps, first + c, weights, area), filter->bias);
        out[c] = cm_output_s8(&d->output, sum, filter->multiplier, filter->shift);
        packed = weights + ((area + 3) & -4);
    }
}

void cm_isa_depthwise_s8(const struct cm_depthwise *d)
{
    int32_t area = d->kernel_height * d->kernel_width, slots = (area + 3) & ~3;
    int32_t reach = (d->kernel_width - 1) * d->dilation_width, step = d->stride_width * d->channels;
    const int8_t **taps = d->workspace;
    int8_t *padding = (int8_t *)(taps + slots);
    memset(padding, d->input_zero_point, (size_t)d->channels);
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        int8_t *out = d->out + d->out_rows[r];
        /* The last columns whose windows lie inside; none if rows do not. */
        int32_t end = cm_are_rows_inside(d, rows) ? d->input_width - reach : 0, first = 0;
        for (int32_t x = 0, left = -d->pad_left; x < d->out_width; ++x, left += d->stride_width) {
            first += step;
            if (left < d->stride_width || left >= end) {
                cm_find_taps(d, rows, left, padding, taps);
                first = 0;
                for (int32_t i = area; i < slots; ++i)
                    taps[i] = *taps; /* whose weights are 0 */
            }
            convolve_pixel(d, d->weights, taps, first, area, out);
            out += d->channels;
        }
    }
}

void cm_isa_depthwise_s8_divided(const struct cm_depthwise *d)
{
    cm_isa_depthwise_s8(d);
}
