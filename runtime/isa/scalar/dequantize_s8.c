/* int8 to floats without SIMD. */
#include "cmrt/elementwise.h"

#include <string.h>

#if defined(__ARM_FP) && (__ARM_FP & 4) != 0
static inline float multiply(int32_t steps, float scale)
{
    return (float)steps * scale;
}
#else
/* The same in integers, to nearest and halves to even, unless the result is subnormal or may overflow. */
static inline float multiply(int32_t steps, float scale)
{
    enum { MOST_EXPONENT = 254 - 9 };
    static const uint8_t bit_length[16] = {0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4};
    uint32_t bits, magnitude = (uint32_t)(steps < 0 ? -steps : steps);
    memcpy(&bits, &scale, sizeof bits);
    uint32_t exponent = bits >> 23;
    if (magnitude == 0 || magnitude > 255 || exponent - 1 >= MOST_EXPONENT)
        return (float)steps * scale;
    uint32_t product = magnitude * ((bits & 0x7fffff) | 0x800000);
    uint32_t high = product >> 24, surplus = 0;
    if (high >= 16)
        high >>= 4, surplus = 4;
    surplus += bit_length[high];
    if (surplus > 0)
        product = (product + ((UINT32_C(1) << surplus >> 1) - 1) + (product >> surplus & 1)) >> surplus;
    bits = ((exponent + surplus - 1) << 23) + product;
    bits |= steps < 0 ? UINT32_C(1) << 31 : 0;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}
#endif

void cm_isa_dequantize_s8(const int8_t *in, int32_t zero_point, float scale, float *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        *out++ = multiply(*in++ - zero_point, scale);
}
