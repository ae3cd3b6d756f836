#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

/* The bits of a number below 2^31 that is not negative; 0 of 0. */
static int32_t bits(int32_t x)
{
    return 31 - __builtin_clz((uint32_t)x << 1 | 1);
}

/* A quotient in steps of the output. */
static int32_t divide(const struct cm_quotient *by, int32_t dividend, int32_t divisor)
{
    if (divisor < 0) {
        divisor = -divisor;
        dividend = -dividend;
    }
    if (divisor == 0)
        return dividend * (1 << 16);
    int32_t headroom = 31 - bits(dividend < 0 ? ~dividend : dividend);
    int32_t shift = bits(divisor) - 1 + headroom - by->output.shift;
    int32_t whole = (int32_t)((uint32_t)dividend << headroom);
    int32_t quotient = cm_doubling_high_multiply(whole, by->reciprocals[divisor]);
    quotient = cm_doubling_high_multiply(quotient, by->output.multiplier);
    return shift > 31 ? 0 : cm_rounding_shift_right(quotient, shift);
}

void cm_isa_quotient_s8(const struct cm_quotient *quotient, const int8_t *lhs, const int8_t *rhs,
                        int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_quotient by = *quotient;
    for (int32_t i = 0; i < count; ++i) {
        int32_t first = *lhs++, second = *rhs;
        rhs += rhs_step;
        int32_t dividend = (by.swapped ? second : first) - by.dividend_zero_point;
        int32_t divisor = (by.swapped ? first : second) - by.divisor_zero_point;
        int32_t result = divide(&by, dividend, divisor) + by.output.zero_point;
        *out++ = (int8_t)cm_clamp(result, INT8_MIN, INT8_MAX);
    }
}
