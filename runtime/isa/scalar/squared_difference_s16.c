#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_squared_difference_s16(const struct cm_short_difference *difference, const int16_t *lhs,
                                   const int16_t *rhs, int32_t rhs_step, int16_t *out, int32_t count)
{
    const struct cm_short_difference by = *difference;
    for (int32_t i = 0; i < count; ++i) {
        int32_t apart = cm_requantize(*lhs++, by.lhs.multiplier, by.lhs.shift) -
                        cm_requantize(*rhs, by.rhs.multiplier, by.rhs.shift);
        rhs += rhs_step;
        int32_t square = cm_requantize(apart * apart, by.output.multiplier, by.output.shift);
        *out++ = (int16_t)cm_clamp(square, INT16_MIN, INT16_MAX);
    }
}
