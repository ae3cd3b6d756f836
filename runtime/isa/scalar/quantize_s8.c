#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/rounding.h"

void cm_isa_quantize_s8(const struct cm_quantize_parameters *to, const float *in, int8_t *out, int32_t count)
{
    const struct cm_quantize_parameters by = *to;
    int32_t minimum = by.minimum - by.zero_point, maximum = by.maximum - by.zero_point;
    for (int32_t i = 0; i < count; ++i) {
        int32_t steps = cm_clamp(cm_round_to_even(*in++ * by.inverse_scale), minimum, maximum);
        *out++ = (int8_t)(steps + by.zero_point);
    }
}
