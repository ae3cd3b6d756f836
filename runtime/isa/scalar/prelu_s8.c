#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_prelu_s8(const struct cm_slopes *slopes, const int8_t *in, int8_t *out, int32_t channels,
                     int32_t rows)
{
    const struct cm_slopes by = *slopes;
    for (int32_t row = 0; row < rows; ++row, in += channels, out += channels)
        for (int32_t i = 0; i < channels; ++i) {
            int32_t x = in[i] - by.zero_point;
            int32_t scaled = x * (x < 0 ? by.below[i] : by.above) + by.offset;
            out[i] = (int8_t)cm_clamp(scaled >> by.shift, INT8_MIN, INT8_MAX);
        }
}
