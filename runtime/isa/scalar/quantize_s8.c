/* Floats to int8 without SIMD. */
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/rounding.h"

#include <string.h>

static int32_t steps_of(float x, float inverse_scale)
{
    return cm_round_to_even(x * inverse_scale);
}

#if defined(__ARM_FP) && (__ARM_FP & 4) != 0
#define STEPS steps_of
#else
/* The same within -256 to 256, where int8 saturates, without a product of floats unless it is within 2^-5 of
   halfway between two integers. The factors' upper 16 bits of mantissa give the product but for less than
   2^15 + 2 of `product`'s units, and rounding it to a float moves it by less than 2^6 of them. */
static int32_t steps_in_integers(float x, float inverse_scale)
{
    enum { MARGIN = 1 << 16, SATURATED = 256 };
    uint32_t bits, scale;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&scale, &inverse_scale, sizeof scale);
    int32_t exponent = (int32_t)(bits << 1 >> 24), scale_exponent = (int32_t)(scale << 1 >> 24);
    int32_t fraction_bits = 282 - exponent - scale_exponent;
    if (fraction_bits > 31 && scale_exponent < 255 && exponent < 255)
        return 0;
    if (exponent == 0 || exponent == 255 || scale_exponent == 0 || scale_exponent == 255)
        return steps_of(x, inverse_scale);
    int32_t magnitude = SATURATED;
    if (fraction_bits > 20) {
        uint32_t half = UINT32_C(1) << (fraction_bits - 1);
        uint32_t product = ((bits << 9 >> 17) + 0x8000) * ((scale << 9 >> 17) + 0x8000) >> 2;
        uint32_t sum = product + half, fraction = sum & (2 * half - 1);
        if (fraction < MARGIN || fraction >= 2 * half - MARGIN)
            return steps_of(x, inverse_scale);
        magnitude = (int32_t)(sum >> fraction_bits);
    }
    return bits >> 31 != 0 ? -magnitude : magnitude;
}
#define STEPS steps_in_integers
#endif

void cm_isa_quantize_s8(const struct cm_quantize_parameters *to, const float *in, int8_t *out, int32_t count)
{
    const struct cm_quantize_parameters by = *to;
    int32_t minimum = by.minimum - by.zero_point, maximum = by.maximum - by.zero_point;
    for (int32_t i = 0; i < count; ++i) {
        int32_t steps = cm_clamp(STEPS(*in++, by.inverse_scale), minimum, maximum);
        *out++ = (int8_t)(steps + by.zero_point);
    }
}
