/* Depthwise convolution with several filters for each channel with the DSP extension: two filters share the
   taps, which are multiplied in pairs.

   Weights are those of two taps of the first filter, then of the second one. Where the rounding is not
   general, shifts are factors, as in gemm_s8.c. */
#include "cmrt/shared_filters.h"
#include "simd.h"

static inline int16x2_t join_taps(const int8_t *const *taps, int32_t channel)
{
    return (int16x2_t)join_lower((uint32_t)taps[0][channel], (uint32_t)taps[1][channel]);
}

static inline int8_t rescale(const struct cm_output *output, int32_t sum, const struct cm_rescaling *scale,
                             int32_t i)
{
    if (output->rounding == CM_ROUND_GENERAL)
        return cm_output_s8(output, sum, scale->multiplier[i], scale->shift[i]);
    int32_t scaled = add_high_product(sum, scale->multiplier[i], sum);
    scaled = add_high_product(scaled + (scaled >> 31), scale->shift[i], output->zero_point);
    return (int8_t)cm_clamp(scaled, output->minimum, output->maximum);
}

static void convolve_pixel(const struct cm_output *output, const struct cm_pixel *pixel)
{
    int8_t *out = pixel->out;
    int32_t channel = pixel->first;
    for (const int8_t *packed = pixel->packed; packed != pixel->end;) {
        const int32_t *weights = (const int32_t *)(const void *)packed, *end;
        const int8_t *const *taps = pixel->taps;
        int32_t first = *weights++, second = *weights++;
        end = weights + pixel->bytes / 4;
        if ((pixel->bytes & 8) != 0) {
            int16x2_t values = join_taps(taps, channel);
            first = __smlad(values, (int16x2_t)weights[0], first);
            second = __smlad(values, (int16x2_t)weights[1], second);
            weights += 2;
            taps += 2;
        }
        for (; weights != end; weights += 4, taps += 4) {
            int16x2_t values = join_taps(taps, channel);
            first = __smlad(values, (int16x2_t)weights[0], first);
            second = __smlad(values, (int16x2_t)weights[1], second);
            values = join_taps(taps + 2, channel);
            first = __smlad(values, (int16x2_t)weights[2], first);
            second = __smlad(values, (int16x2_t)weights[3], second);
        }
        const struct cm_rescaling *scale = (const struct cm_rescaling *)(const void *)end;
        *out++ = rescale(output, first, scale, 0);
        if (scale->second != 0)
            *out++ = rescale(output, second, scale, 1);
        channel += scale->step;
        packed = (const int8_t *)(scale + 1);
    }
}

void cm_isa_depthwise_shared_s8(const struct cm_depthwise *d)
{
    cm_convolve_pixels(d, convolve_pixel);
}
