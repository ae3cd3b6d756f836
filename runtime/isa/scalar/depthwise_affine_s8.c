/* Depthwise convolution of one tap. Packed weights are a factor and an offset of each channel. */
#include "cmrt/isa.h"

void cm_isa_depthwise_affine_s8(const struct cm_depthwise *d)
{
    for (int32_t r = 0; r < d->band; ++r) {
        const int8_t *in = d->input + d->input_rows[r];
        int8_t *out = d->out + d->out_rows[r], *const end = out + d->out_width * d->channels;
        while (out != end) {
            const int32_t *packed = d->weights;
            for (int32_t channel = d->channels; channel > 0; --channel, packed += 2) {
                int32_t x = (*in++ * packed[0] + packed[1]) >> CM_AFFINE_SHIFT;
                *out++ = (int8_t)cm_clamp(x, d->output.minimum, d->output.maximum);
            }
        }
    }
}
