/* 3x3 depthwise convolution of int16 images without SIMD: one output at a time, through a table of its taps.
 */
#include "cmrt/short_output.h"
#include "cmrt/taps.h"

#include <string.h>

enum { TAPS = 9, SLOTS = 12 };

/* One channel; places: as cm_scale_places() takes them. */
struct filter {
    int32_t bias, multiplier, places;
    int8_t weights[SLOTS];
};

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#define LOAD_TAP "ldrsh "
#include "depthwise_pixel.h"

convolve_function cm_scalar_convolve_nine_shorts;
/* clang-format off */
#ifdef __thumb2__
#define OUTPUT_SHORT \
    "ldr r4, [r2, #4]\n" \
    "ldr r5, [r2, #8]\n" \
    "asrs r6, r3, #16\n" \
    "uxth r3, r3\n" \
    "mul r3, r4, r3\n" \
    "lsrs r3, r3, #16\n" \
    "mla r3, r6, r4, r3\n" \
    "asrs r3, r5\n" \
    "adds r7, r3, #1\n" \
    "asrs r7, r7, #1\n" \
    CLAMP \
    STORE_OUTPUT("strh")
#else
#define OUTPUT_SHORT \
    "ldr r4, [r2, #4]\n" \
    "ldr r5, [r2, #8]\n" \
    "asrs r6, r3, #16\n" \
    "muls r6, r4, r6\n" \
    "uxth r3, r3\n" \
    "muls r3, r4, r3\n" \
    "lsrs r3, r3, #16\n" \
    "adds r3, r3, r6\n" \
    "asrs r3, r5\n" \
    "adds r7, r3, #1\n" \
    "asrs r7, r7, #1\n" \
    CLAMP \
    STORE_OUTPUT("strh")
#endif

PIXEL_FUNCTION(cm_scalar_convolve_nine_shorts, CONVOLVE, "24", OUTPUT_SHORT, "2");
/* clang-format on */

static void convolve_pixel(const struct cm_depthwise *d, const struct cm_short_range *range,
                           const int8_t *const *taps, int8_t *out)
{
    const struct pixel pixel = {range + 1, taps, {range->minimum, range->maximum, 0}, d->channels};
    cm_scalar_convolve_nine_shorts(&pixel, out, 0);
}
#else
static void convolve_pixel(const struct cm_depthwise *d, const struct cm_short_range *range,
                           const int8_t *const *taps, int8_t *out)
{
    const struct filter *filter = (const struct filter *)(const void *)(range + 1);
    int16_t *results = (int16_t *)(void *)out;
    for (int32_t at = 0; at < d->channels; at += (int32_t)sizeof *results, ++filter) {
        uint32_t sum = (uint32_t)filter->bias;
        for (int32_t i = 0; i < TAPS; ++i) {
            const int16_t *tap = (const int16_t *)(const void *)(taps[i] + at);
            sum += (uint32_t)(*tap * filter->weights[i]);
        }
        const int32_t scaled = cm_scale_places((int32_t)sum, filter->multiplier, filter->places);
        *results++ = (int16_t)cm_clamp(scaled, range->minimum, range->maximum);
    }
}
#endif

void cm_isa_depthwise_3x3_s16(const struct cm_depthwise *d)
{
    const int8_t **taps = d->workspace;
    int8_t *padding = (int8_t *)(taps + SLOTS);
    memset(padding, 0, (size_t)d->channels);
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        int8_t *out = d->out + d->out_rows[r];
        for (int32_t x = 0; x < d->out_width; ++x, out += d->channels) {
            cm_find_taps(d, rows, x * d->stride_width - d->pad_left, padding, taps);
            convolve_pixel(d, d->weights, taps, out);
        }
    }
}

void cm_isa_depthwise_3x3_s16_rectified(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s16(d);
}

void cm_isa_depthwise_3x3_s16_stride_2(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s16(d);
}

void cm_isa_depthwise_3x3_s16_stride_2_rectified(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s16(d);
}
