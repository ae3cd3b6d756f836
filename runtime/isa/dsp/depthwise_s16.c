/* A pixel of a depthwise convolution of int16 images with the DSP extension: four channels at a time.
   Products are of one half of a word of pixels and one of a word of weights. */
#include "cmrt/short_pixel.h"
#include "simd.h"

enum { CHANNELS = 4 };

static uint32_t load_pair(const int16_t *pair)
{
    uint32_t word;
    memcpy(&word, pair, sizeof word);
    return word;
}

static int16_t output(const struct cm_short_pixel *pixel, const struct cm_short_head *head, int32_t sum)
{
    const int32_t rounded = __smlawb(sum, head->multiplier, 1 << (-head->shift - 2));
    const int32_t scaled = rounded >> (-head->shift - 1);
    return (int16_t)cm_clamp(scaled, pixel->minimum, pixel->maximum);
}

void cm_isa_depthwise_s16(const struct cm_short_pixel *pixel)
{
    const int32_t step = pixel->step, channels = pixel->channels, width = pixel->width;
    int32_t channel = 0;
    for (; channel + CHANNELS <= channels; channel += CHANNELS) {
        const struct cm_short_head *head = pixel->heads + channel;
        const int8_t *weights = pixel->weights + channel;
        int32_t sum0 = (int32_t)head[0].bias[0], sum1 = (int32_t)head[1].bias[0];
        int32_t sum2 = (int32_t)head[2].bias[0], sum3 = (int32_t)head[3].bias[0];
        for (int32_t row = 0; row < pixel->height; ++row, weights += pixel->weight_row) {
            const int16_t *in = pixel->rows[row] + pixel->first + channel;
            const int8_t *tap = weights;
            for (int32_t left = width; left > 0; --left) {
                const uint32_t low = load_pair(in), high = load_pair(in + 2), four = load_bytes(tap);
                const uint32_t even = widen_even(four), odd = widen_odd(four);
                sum0 = __smlabb((int32_t)low, (int32_t)even, sum0);
                sum1 = __smlatb((int32_t)low, (int32_t)odd, sum1);
                sum2 = __smlabt((int32_t)high, (int32_t)even, sum2);
                sum3 = __smlatt((int32_t)high, (int32_t)odd, sum3);
                in += step;
                tap += channels;
            }
        }
        int16_t *out = pixel->out + channel;
        out[0] = output(pixel, head, sum0);
        out[1] = output(pixel, head + 1, sum1);
        out[2] = output(pixel, head + 2, sum2);
        out[3] = output(pixel, head + 3, sum3);
    }
    cm_short_channels(pixel, channel);
}
