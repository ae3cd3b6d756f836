/* Products of int8 numbers with the DSP extension: four at a time. */
#include "cmrt/elementwise.h"
#include "short_output.h"

enum { FOUR = 4 };

/* The products of the lower, and of the upper halves. */
static inline int32_t lower_product(uint32_t a, uint32_t b)
{
    int32_t product;
    __asm("smulbb %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

static inline int32_t upper_product(uint32_t a, uint32_t b)
{
    int32_t product;
    __asm("smultt %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

/* A number for both halves of a word. */
static inline uint32_t twice(int32_t number)
{
    return join_lower((uint32_t)number, (uint32_t)number);
}

static inline uint32_t offset_even(uint32_t bytes, uint32_t offsets)
{
    return (uint32_t)__sxtab16((int16x2_t)offsets, (int8x4_t)bytes);
}

static inline uint32_t offset_odd(uint32_t bytes, uint32_t offsets)
{
    uint32_t halves;
    __asm("sxtab16 %0, %1, %2, ror #8" : "=r"(halves) : "r"(offsets), "r"(bytes));
    return halves;
}

void cm_isa_mul_right_s8(const struct cm_product *product, const int8_t *lhs, const int8_t *rhs,
                         int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_rescale *output = &product->output;
    const struct rescale rescale = short_rescale(output->multiplier, output->shift, output->zero_point);
    const uint32_t lhs_offset = twice(-product->lhs_zero_point), rhs_offset = twice(-product->rhs_zero_point);
    const int8_t *const end = out + count, *const last = out + (count & -FOUR);
    int8_t same[FOUR];
    if (rhs_step == 0) {
        memset(same, *rhs, FOUR);
        rhs = same;
    }
    for (; out < last; out += FOUR, lhs += FOUR, rhs += FOUR * rhs_step) {
        const uint32_t a = load_bytes(lhs), b = load_bytes(rhs);
        const uint32_t even_a = offset_even(a, lhs_offset), odd_a = offset_odd(a, lhs_offset);
        const uint32_t even_b = offset_even(b, rhs_offset), odd_b = offset_odd(b, rhs_offset);
        out[0] = short_output(rescale, lower_product(even_a, even_b));
        out[1] = short_output(rescale, lower_product(odd_a, odd_b));
        out[2] = short_output(rescale, upper_product(even_a, even_b));
        out[3] = short_output(rescale, upper_product(odd_a, odd_b));
    }
    for (; out < end; rhs += rhs_step) {
        const int32_t a = *lhs++ - product->lhs_zero_point, b = *rhs - product->rhs_zero_point;
        *out++ = short_output(rescale, a * b);
    }
}
