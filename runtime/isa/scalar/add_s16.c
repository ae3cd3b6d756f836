#include "cmrt/short_sum.h"

/* (x * multiplier + 2^15) >> 16. */
static inline int32_t scaled(int32_t x, int32_t multiplier)
{
#if defined(__thumb__) && !defined(__thumb2__)
    return x * (multiplier >> 16) + ((x * (multiplier & 0xffff) + (1 << 15)) >> 16);
#else
    return (int32_t)(((int64_t)(x * (1 << 16)) * multiplier + (INT64_C(1) << 31)) >> 32);
#endif
}

static inline int32_t divided(int32_t x, int32_t bits, int32_t half)
{
    return (x + (x >> 31) + half) >> bits;
}

void cm_isa_add_s16(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs, int32_t rhs_step,
                    int16_t *out, int32_t count)
{
    struct cm_short_sum of;
    if (!cm_short_sum(&of, sum, lhs, rhs, rhs_step)) {
        cm_add_s16_any(sum, lhs, rhs, rhs_step, out, count);
        return;
    }
    const struct cm_short_sum by = of;
    const int16_t *larger = by.larger, *smaller = by.smaller;
    const int32_t half = 1 << (by.right - 1), last_half = 1 << (by.last - 1);
    for (int16_t *const end = out + count; out != end; ++out) {
        int32_t total =
            *larger * by.factor + divided(scaled(*smaller, by.multiplier), by.right, half) * by.sign;
        larger += by.larger_step;
        smaller += by.smaller_step;
        total = divided(cm_doubling_high_multiply(total, by.output), by.last, last_half);
        *out = (int16_t)cm_clamp(total, by.minimum, by.maximum);
    }
}
