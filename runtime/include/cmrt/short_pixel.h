/* One output pixel of a depthwise convolution of int16 images, whose sums fit 32 bits. */
#ifndef CMRT_SHORT_PIXEL_H
#define CMRT_SHORT_PIXEL_H

#include "cmrt/microkernel.h"
#include "cmrt/short_output.h"

#include <stdint.h>

/* Bias and scale of a channel. */
struct cm_short_head {
    uint32_t bias[2]; /* low and high halves */
    int32_t multiplier, shift;
};

/* The taps inside of the image; distances are elements. */
struct cm_short_pixel {
    const int16_t *const *rows; /* of the input */
    int32_t first;              /* from the start of each row to the first tap's pixel */
    int32_t height, width;      /* rows and columns of taps */
    int32_t step;               /* from a tap's pixel to the next one's */
    const int8_t *weights;      /* of the first tap, channel by channel */
    int32_t weight_row;         /* from a row of weights to the next */
    const struct cm_short_head *heads;
    int32_t channels;
    int32_t minimum, maximum;
    int16_t *out;
};
CM_MICROKERNEL void cm_isa_depthwise_s16(const struct cm_short_pixel *pixel);

/* Channels from `channel` on, one by one. */
static inline void cm_short_channels(const struct cm_short_pixel *pixel, int32_t channel)
{
    for (; channel < pixel->channels; ++channel) {
        const struct cm_short_head *head = pixel->heads + channel;
        const int8_t *weights = pixel->weights + channel;
        uint32_t sum = head->bias[0];
        for (int32_t row = 0; row < pixel->height; ++row, weights += pixel->weight_row) {
            const int16_t *in = pixel->rows[row] + pixel->first + channel;
            const int8_t *tap = weights;
            for (int32_t column = 0; column < pixel->width; ++column) {
                sum += (uint32_t)(*in * *tap);
                in += pixel->step;
                tap += pixel->channels;
            }
        }
        int32_t result = cm_scale_short((int32_t)sum, head->multiplier, head->shift);
        pixel->out[channel] = (int16_t)cm_clamp(result, pixel->minimum, pixel->maximum);
    }
}

#endif
