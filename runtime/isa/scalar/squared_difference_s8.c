#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_squared_difference_s8(const struct cm_squared_difference *difference, const int8_t *lhs,
                                  const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_squared_difference by = *difference;
    for (int32_t i = 0; i < count; ++i) {
        int32_t apart = by.lhs_table[(uint8_t)*lhs++] - by.rhs_table[(uint8_t)*rhs];
        rhs += rhs_step;
        int32_t square = cm_requantize(apart * apart, by.output.multiplier, by.output.shift);
        *out++ = (int8_t)cm_clamp(square + by.output.zero_point, INT8_MIN, INT8_MAX);
    }
}
