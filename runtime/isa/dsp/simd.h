/* Instructions of the DSP extension without an equivalent in C. */
#ifndef SIMD_H
#define SIMD_H

#include <arm_acle.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t load_bytes(const int8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Bytes 0 and 2 of four, as two signed 16-bit numbers. */
static inline uint32_t widen_even(uint32_t bytes)
{
    uint32_t halves;
    __asm("sxtb16 %0, %1" : "=r"(halves) : "r"(bytes));
    return halves;
}

/* Bytes 1 and 3. */
static inline uint32_t widen_odd(uint32_t bytes)
{
    uint32_t halves;
    __asm("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(bytes));
    return halves;
}

/* Two 16-bit numbers plus bytes 0 and 2 of four. */
static inline int16x2_t add_even(int16x2_t numbers, uint32_t bytes)
{
    return __sxtab16(numbers, (int8x4_t)bytes);
}

/* Plus bytes 1 and 3. */
static inline int16x2_t add_odd(int16x2_t numbers, uint32_t bytes)
{
    int16x2_t sums;
    __asm("sxtab16 %0, %1, %2, ror #8" : "=r"(sums) : "r"(numbers), "r"(bytes));
    return sums;
}

/* Bytes 0 and 2, then 1 and 3, of four. Returns the four. */
static inline uint32_t widen_four(uint32_t *out, const int8_t *four)
{
    uint32_t word = load_bytes(four), even, odd;
    /* Side by side, as no result can be stored by the instruction after. */
    __asm("sxtb16 %0, %2\n"
          "sxtb16 %1, %2, ror #8"
          : "=&r"(even), "=r"(odd)
          : "r"(word));
    out[0] = even;
    out[1] = odd;
    return word;
}

/* The lower, or the upper, halves of two words as one word. */
static inline uint32_t join_lower(uint32_t low, uint32_t high)
{
    uint32_t joined;
    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(joined) : "r"(low), "r"(high));
    return joined;
}

static inline uint32_t join_upper(uint32_t low, uint32_t high)
{
    uint32_t joined;
    __asm("pkhtb %0, %2, %1, asr #16" : "=r"(joined) : "r"(low), "r"(high));
    return joined;
}

/* The larger of each of four signed bytes. */
static inline uint32_t larger_bytes(uint32_t a, uint32_t b)
{
    /* Sets the flags for SEL: a >= b. */
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* The smaller. */
static inline uint32_t smaller_bytes(uint32_t a, uint32_t b)
{
    (void)__ssub8((int8x4_t)b, (int8x4_t)a);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* The larger of each of two signed 16-bit numbers. */
static inline uint32_t larger_halves(uint32_t a, uint32_t b)
{
    (void)__ssub16((int16x2_t)a, (int16x2_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* The smaller. */
static inline uint32_t smaller_halves(uint32_t a, uint32_t b)
{
    (void)__ssub16((int16x2_t)b, (int16x2_t)a);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* sum + the sum of four unsigned bytes. */
static inline uint32_t add_bytes(uint32_t bytes, uint32_t sum)
{
    uint32_t result;
    __asm("usada8 %0, %1, %2, %3" : "=r"(result) : "r"(bytes), "r"(0), "r"(sum));
    return result;
}

/* The product of the lower halves. */
static inline int32_t multiply_lower(int16x2_t a, int16x2_t b)
{
    int32_t product;
    __asm("smulbb %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

/* Of the upper halves. */
static inline int32_t multiply_upper(int16x2_t a, int16x2_t b)
{
    int32_t product;
    __asm("smultt %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

/* The product of the upper half of one and the lower of the other. */
static inline int32_t multiply_crossed(int16x2_t a, int16x2_t b)
{
    int32_t product;
    __asm("smultb %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

/* sum + the products of the lower and of the upper halves. */
static inline int32_t multiply_pairs(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;
    __asm("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

/* sum + ((a * b) >> 32), rounded half up. */
static inline int32_t add_high_product(int32_t a, int32_t b, int32_t sum)
{
    int32_t result;
    __asm("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

static inline int32_t saturate_s16(int32_t x)
{
    int32_t result;
    __asm("ssat %0, #16, %1" : "=r"(result) : "r"(x));
    return result;
}

static inline int8_t saturate_s8(int32_t x)
{
    int32_t result;
    __asm("ssat %0, #8, %1" : "=r"(result) : "r"(x));
    return (int8_t)result;
}

#endif
