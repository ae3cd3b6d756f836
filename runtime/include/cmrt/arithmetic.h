/* Fixed-point arithmetic, bit-exact with CMSIS-NN: doubling high multiply and rounding shifts. */
#ifndef CMRT_ARITHMETIC_H
#define CMRT_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

/* (a * b * 2 + 2^31) >> 32: rounds half up, as VQRDMULH does. */
static inline int32_t cm_doubling_high_multiply(int32_t a, int32_t b)
{
#if defined(__thumb__) && !defined(__thumb2__)
    /* Armv6-M has no long multiplication: four products of halves. For b = -2^31 the second one may not fit.
     */
    if (b >= 0) {
        int32_t a1 = a >> 16, b1 = b >> 16;
        uint32_t a0 = a & 0xffff, b0 = b & 0xffff;
        int32_t upper = a1 * (int32_t)b0 + (int32_t)(a0 * b0 >> 16);
        uint32_t lower = a0 * (uint32_t)b1 + (upper & 0xffff);
        int32_t high = a1 * b1 + (upper >> 16) + (int32_t)(lower >> 16);
        return (int32_t)((uint32_t)high << 1) + (int32_t)(((lower >> 14 & 3) + 1) >> 1);
    }
#endif
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

/* The same for |a| < 2^16. */
static inline int32_t cm_doubling_high_multiply_short(int32_t a, int32_t b)
{
#if defined(__thumb__) && !defined(__thumb2__)
    /* Two products of 32 bits, as b is 2^16 * upper + a lower half with a sign. */
    int32_t upper = ((b >> 15) + 1) >> 1, lower = (int16_t)b;
    return (a * upper + (a * lower >> 16) + (1 << 14)) >> 15;
#else
    return cm_doubling_high_multiply(a, b);
#endif
}

/* x / 2^n, rounded to nearest, halves away from zero. */
static inline int32_t cm_rounding_shift_right(int32_t x, int32_t n)
{
    int32_t mask = (int32_t)((UINT32_C(1) << n) - 1);
    int32_t threshold = (mask >> 1) + (x < 0);
    return (x >> n) + ((x & mask) > threshold);
}

/* x * multiplier * 2^(shift - 31) as CMSIS-NN rounds it; shift > 0 multiplies first, wrapping. */
static inline int32_t cm_requantize(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0;
    int32_t shifted = (int32_t)((uint32_t)x << left);
    return cm_rounding_shift_right(cm_doubling_high_multiply(shifted, multiplier), left - shift);
}

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
/* clang-format off */
/* CM_HIGH_PRODUCT: the doubling high product of |x| < 2^29 and a multiplier that is not negative, both
   overwritten. CM_SHIFT_RIGHT: x * 2^shift for negative shifts, rounded to nearest, halves away from zero. */
#ifdef __thumb2__
#define CM_HIGH_PRODUCT(product, x, multiplier, upper, lower) \
    "lsls " x ", " x ", #1\n" \
    "smull " lower ", " product ", " x ", " multiplier "\n" \
    "add " product ", " product ", " lower ", lsr #31\n"

/* The carry is the last bit shifted out. */
#define CM_SHIFT_RIGHT(x, shift, sign) \
    "add " x ", " x ", " x ", asr #31\n" \
    "rsbs " shift ", " shift ", #0\n" \
    "asrs " x ", " x ", " shift "\n" \
    "adc " x ", " x ", #0\n"
#else
/* With a signed lower half of x, the sum of the three lower products fits 32 bits. */
#define CM_HIGH_PRODUCT(product, x, multiplier, upper, lower) \
    "uxth " upper ", " multiplier "\n" \
    "asrs " multiplier ", " multiplier ", #16\n" \
    "sxth " lower ", " x "\n" \
    "subs " x ", " x ", " lower "\n" \
    "asrs " x ", " x ", #16\n" \
    "movs " product ", " upper "\n" \
    "muls " product ", " lower ", " product "\n" \
    "asrs " product ", " product ", #16\n" \
    "muls " upper ", " x ", " upper "\n" \
    "adds " product ", " product ", " upper "\n" \
    "muls " lower ", " multiplier ", " lower "\n" \
    "adds " product ", " product ", " lower "\n" \
    "muls " multiplier ", " x ", " multiplier "\n" \
    "asrs " product ", " product ", #14\n" \
    "lsls " multiplier ", " multiplier ", #2\n" \
    "adds " product ", " product ", " multiplier "\n" \
    "adds " product ", #1\n" \
    "asrs " product ", " product ", #1\n"

/* The last bit is shifted out alone. */
#define CM_SHIFT_RIGHT(x, shift, sign) \
    "asrs " sign ", " x ", #31\n" \
    "adds " x ", " x ", " sign "\n" \
    "mvns " shift ", " shift "\n" \
    "asrs " x ", " x ", " shift "\n" \
    "adds " x ", #1\n" \
    "asrs " x ", " x ", #1\n"
#endif
/* clang-format on */
#endif

/* The same for |x| < 2^29, multipliers that are not negative and shifts of 1 to 31 to the right. */
static inline int32_t cm_scale_right(int32_t x, int32_t multiplier, int32_t shift)
{
#if defined(__thumb__) && !defined(__thumb2__) && !defined(CM_PORTABLE)
    int32_t upper, lower, scaled;
    __asm(".syntax unified\n" CM_HIGH_PRODUCT("%[scaled]", "%[x]", "%[multiplier]", "%[upper]", "%[lower]")
              CM_SHIFT_RIGHT("%[scaled]", "%[shift]", "%[lower]")
          : [upper] "=&l"(upper), [lower] "=&l"(lower), [scaled] "=&l"(scaled), [x] "+l"(x),
            [multiplier] "+l"(multiplier), [shift] "+l"(shift)
          :
          : "cc");
    return scaled;
#else
    int32_t high = cm_doubling_high_multiply(x, multiplier);
    return (high + (high >> 31) + (1 << (-shift - 1))) >> -shift;
#endif
}

/* a + b in 32 bits, wrapping. */
static inline int32_t cm_wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t cm_clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* 32-bit argument fields hold floats as their bits. */
static inline float cm_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
