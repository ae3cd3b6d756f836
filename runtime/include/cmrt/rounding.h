/* Rounding floats to integers: the same bits with and without a floating-point unit. */
#ifndef CMRT_ROUNDING_H
#define CMRT_ROUNDING_H

#include <stdint.h>
#include <string.h>

/* The nearest integer, halves to even; NaN gives 0. Saturated at some magnitude above 2^24 - 2. */
static inline int32_t cm_round_to_even(float x)
{
#if defined(__ARM_FP) && (__ARM_FP & 4) != 0 && !defined(CM_PORTABLE)
    /* In FPSCR's default mode: to nearest, halves to even. */
    int32_t rounded;
    __asm("vcvtr.s32.f32 %1, %1\n"
          "vmov %0, %1\n"
          : "=r"(rounded), "+t"(x));
    return rounded;
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t exponent = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
    int32_t magnitude = 0;
    if (exponent >= 150) {
        magnitude = exponent == 255 && mantissa != 0 ? 0 : 0xffffff;
    } else if (exponent >= 126) {
        uint32_t fraction_bits = 150 - exponent;
        uint32_t value = mantissa | 0x800000;
        uint32_t whole = value >> fraction_bits, fraction = value << (32 - fraction_bits);
        magnitude =
            (int32_t)(whole + (fraction > 0x80000000U || (fraction == 0x80000000U && (whole & 1) != 0)));
    }
    return (bits >> 31) != 0 ? -magnitude : magnitude;
#endif
}

#endif
