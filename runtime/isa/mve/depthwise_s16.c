/* A pixel of a depthwise convolution of int16 images with MVE: eight channels at a time, whose products are
   of even lanes, then of odd ones. */
#include "cmrt/short_pixel.h"

#include <arm_mve.h>
#include <stdbool.h>

enum { CHANNELS = 8, HEAD = (int)sizeof(struct cm_short_head) };

/* Of every other channel, `count` of them: a field of their heads. */
static int32x4_t load_field(const void *field, int32_t count)
{
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), 2 * HEAD);
    return vldrwq_gather_offset_z_s32(field, places, vctp32q((uint32_t)count));
}

/* From the sums of these channels to outputs: requantize_s64 for sums of 32 bits, as in gemm_s16.c. */
static int32x4_t scaled(int32x4_t sums, const struct cm_short_head *head, int32_t count)
{
    const int32x4_t multipliers = vshlq_n_s32(load_field(&head->multiplier, count), 16);
    const int32x4_t shifts = vaddq_n_s32(load_field(&head->shift, count), 1);
    return vrshlq_s32(vmulhq_s32(sums, multipliers), shifts);
}

/* So many channels, at most eight. Only those loads are predicated that would go beyond the last one. */
static inline __attribute__((always_inline)) void convolve(const struct cm_short_pixel *pixel,
                                                           int32_t channel, int32_t count, bool is_whole)
{
    const int32_t step = pixel->step, channels = pixel->channels;
    const int32_t evens = (count + 1) / 2, odds = count / 2;
    const mve_pred16_t tail = vctp16q((uint32_t)count);
    const struct cm_short_head *head = pixel->heads + channel;
    const int8_t *weights = pixel->weights + channel;
    int32x4_t even = load_field(head->bias, evens), odd = load_field(head[1].bias, odds);
    for (int32_t row = 0; row < pixel->height; ++row, weights += pixel->weight_row) {
        const int16_t *in = pixel->rows[row] + pixel->first + channel;
        const int8_t *tap = weights;
        for (int32_t column = pixel->width; column > 0; --column) {
            const int16x8_t x = is_whole ? vldrhq_s16(in) : vldrhq_z_s16(in, tail);
            const int16x8_t w = is_whole ? vldrbq_s16(tap) : vldrbq_z_s16(tap, tail);
            even = vaddq_s32(even, vmullbq_int_s16(x, w));
            odd = vaddq_s32(odd, vmulltq_int_s16(x, w));
            in += step;
            tap += channels;
        }
    }
    int16x8_t out = vqmovnbq_s32(vdupq_n_s16(0), scaled(even, head, evens));
    out = vqmovntq_s32(out, scaled(odd, head + 1, odds));
    out = vmaxq_s16(out, vdupq_n_s16((int16_t)pixel->minimum));
    out = vminq_s16(out, vdupq_n_s16((int16_t)pixel->maximum));
    vstrhq_p_s16(pixel->out + channel, out, tail);
}

void cm_isa_depthwise_s16(const struct cm_short_pixel *pixel)
{
    int32_t channel = 0;
    for (; channel + CHANNELS <= pixel->channels; channel += CHANNELS)
        convolve(pixel, channel, CHANNELS, true);
    if (channel < pixel->channels)
        convolve(pixel, channel, pixel->channels - channel, false);
}
