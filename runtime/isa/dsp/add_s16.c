/* Sums of int16 numbers with the DSP extension: two at a time. */
#include "cmrt/short_sum.h"
#include "simd.h"

/* The next two numbers, or one twice. */
static inline uint32_t load_two(const int16_t *numbers, int32_t step)
{
    uint32_t word;
    if (step == 0)
        return (uint16_t)*numbers * UINT32_C(0x10001);
    memcpy(&word, numbers, sizeof word);
    return word;
}

/* The sum of x * factor and a number in the upper half of a word whose lower one is 0, cut to 16 bits. */
static inline int32_t add(const struct cm_short_sum *by, int32_t x, uint32_t upper)
{
    int32_t smaller = add_high_product((int32_t)upper, by->multiplier, 0);
    /* The carry is the last bit shifted out. */
    __asm("add %0, %0, %0, asr #31\n"
          "asrs %0, %0, %1\n"
          "adc %0, %0, #0"
          : "+&r"(smaller)
          : "r"(by->right)
          : "cc");
    int32_t total = add_high_product((smaller * by->sign + x) * 2, by->output, 0);
    return saturate_s16(add_high_product(total + (total >> 31), 1 << (32 - by->last), 0));
}

/* Steps are the sum's, constant in each loop. */
static inline __attribute__((always_inline)) void add_pairs(const struct cm_short_sum by, int32_t larger_step,
                                                            int32_t smaller_step, int16_t *out,
                                                            const int16_t *end)
{
    const int16x2_t factor = (int16x2_t)(uint32_t)by.factor;
    const uint32_t minimum = join_lower((uint32_t)by.minimum, (uint32_t)by.minimum),
                   maximum = join_lower((uint32_t)by.maximum, (uint32_t)by.maximum);
    const int16_t *larger = by.larger, *smaller = by.smaller;
    for (; out != end; out += 2, larger += 2 * larger_step, smaller += 2 * smaller_step) {
        const uint32_t x = load_two(larger, larger_step), y = load_two(smaller, smaller_step);
        const int32_t low = add(&by, multiply_lower((int16x2_t)x, factor), y << 16);
        const int32_t high = add(&by, multiply_crossed((int16x2_t)x, factor), y & 0xffff0000);
        const uint32_t two =
            smaller_halves(larger_halves(join_lower((uint32_t)low, (uint32_t)high), minimum), maximum);
        memcpy(out, &two, sizeof two);
    }
}

void cm_isa_add_s16(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs, int32_t rhs_step,
                    int16_t *out, int32_t count)
{
    struct cm_short_sum by;
    const int32_t even = cm_short_sum(&by, sum, lhs, rhs, rhs_step) ? count & -2 : 0;
    const int16_t *const end = out + even;
    if (rhs_step)
        add_pairs(by, 1, 1, out, end);
    else if (by.larger_step)
        add_pairs(by, 1, 0, out, end);
    else
        add_pairs(by, 0, 1, out, end);
    cm_add_s16_any(sum, lhs + even, rhs + even * rhs_step, rhs_step, out + even, count - even);
}
