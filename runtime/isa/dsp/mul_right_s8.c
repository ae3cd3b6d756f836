/* Products of int8 numbers with the DSP extension: four at a time. */
#include "cmrt/elementwise.h"
#include "fours.h"
#include "short_output.h"

/* A number for both halves of a word. */
static inline int16x2_t twice(int32_t number)
{
    return (int16x2_t)join_lower((uint32_t)number, (uint32_t)number);
}

void cm_isa_mul_right_s8(const struct cm_product *product, const int8_t *lhs, const int8_t *rhs,
                         int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_rescale *output = &product->output;
    const struct rescale rescale = short_rescale(output->multiplier, output->shift, output->zero_point);
    const int16x2_t lhs_offset = twice(-product->lhs_zero_point),
                    rhs_offset = twice(-product->rhs_zero_point);
    const int8_t *const end = out + count, *const last = out + (count & -FOUR);
    int8_t same[FOUR];
    rhs = in_fours(rhs, rhs_step, same);
    for (; out < last; out += FOUR, lhs += FOUR, rhs += FOUR * rhs_step) {
        const uint32_t a = load_bytes(lhs), b = load_bytes(rhs);
        const int16x2_t even_a = add_even(lhs_offset, a), odd_a = add_odd(lhs_offset, a);
        const int16x2_t even_b = add_even(rhs_offset, b), odd_b = add_odd(rhs_offset, b);
        out[0] = short_output(rescale, multiply_lower(even_a, even_b));
        out[1] = short_output(rescale, multiply_lower(odd_a, odd_b));
        out[2] = short_output(rescale, multiply_upper(even_a, even_b));
        out[3] = short_output(rescale, multiply_upper(odd_a, odd_b));
    }
    for (; out < end; rhs += rhs_step) {
        const int32_t a = *lhs++ - product->lhs_zero_point, b = *rhs - product->rhs_zero_point;
        *out++ = short_output(rescale, a * b);
    }
}
