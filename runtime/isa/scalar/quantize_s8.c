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

#if defined(__ARM_FP) && (__ARM_FP & 4) != 0 && defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
/* Fours of outputs in all of int8; how many outputs these are. */
static int32_t quantize_fours(const struct cm_quantize_parameters *by, const float *in, int8_t *out,
                              int32_t count)
{
    const int32_t done = count & -4;
    const int8_t *const end = out + done;
    int32_t a, b, c, d;
    if (done <= 0 || by->minimum != INT8_MIN || by->maximum != INT8_MAX)
        return 0;
    /* clang-format off */
    __asm volatile("1:\n"
                   "vldmia %[in]!, {s0-s3}\n"
                   "vmul.f32 s0, s0, %[scale]\n"
                   "vmul.f32 s1, s1, %[scale]\n"
                   "vmul.f32 s2, s2, %[scale]\n"
                   "vmul.f32 s3, s3, %[scale]\n"
                   "vcvtr.s32.f32 s0, s0\n"
                   "vcvtr.s32.f32 s1, s1\n"
                   "vcvtr.s32.f32 s2, s2\n"
                   "vcvtr.s32.f32 s3, s3\n"
                   "vmov %[a], %[b], s0, s1\n"
                   "vmov %[c], %[d], s2, s3\n"
                   "qadd %[a], %[a], %[zero_point]\n"
                   "qadd %[b], %[b], %[zero_point]\n"
                   "qadd %[c], %[c], %[zero_point]\n"
                   "qadd %[d], %[d], %[zero_point]\n"
                   "ssat %[a], #8, %[a]\n"
                   "ssat %[b], #8, %[b]\n"
                   "ssat %[c], #8, %[c]\n"
                   "ssat %[d], #8, %[d]\n"
                   "strb %[a], [%[out]], #1\n"
                   "strb %[b], [%[out]], #1\n"
                   "strb %[c], [%[out]], #1\n"
                   "strb %[d], [%[out]], #1\n"
                   "cmp %[out], %[end]\n"
                   "bne 1b\n"
                   : [in] "+r"(in), [out] "+r"(out), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
                   : [scale] "t"(by->inverse_scale), [zero_point] "r"(by->zero_point), [end] "r"(end)
                   : "s0", "s1", "s2", "s3", "cc", "memory");
    /* clang-format on */
    return done;
}
#else
static int32_t quantize_fours(const struct cm_quantize_parameters *by, const float *in, const int8_t *out,
                              int32_t count)
{
    (void)by, (void)in, (void)out, (void)count;
    return 0;
}
#endif

void cm_isa_quantize_s8(const struct cm_quantize_parameters *to, const float *in, int8_t *out, int32_t count)
{
    const struct cm_quantize_parameters by = *to;
    int32_t minimum = by.minimum - by.zero_point, maximum = by.maximum - by.zero_point;
    for (int32_t i = quantize_fours(&by, in, out, count); i < count; ++i) {
        int32_t steps = cm_clamp(STEPS(in[i], by.inverse_scale), minimum, maximum);
        out[i] = (int8_t)(steps + by.zero_point);
    }
}
