#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_add_tabled_s8(const struct cm_tabled_sum *sum, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_tabled_sum by = *sum;
    const int32_t right = -by.output.shift;
    for (int32_t i = 0; i < count; ++i) {
        int32_t total = cm_wrapping_add(by.lhs_table[(uint8_t)*lhs++], by.rhs_table[(uint8_t)*rhs]);
        rhs += rhs_step;
        int32_t scaled =
            cm_rounding_shift_right(cm_doubling_high_multiply(total, by.output.multiplier), right);
        *out++ = (int8_t)cm_clamp(scaled + by.output.zero_point, by.minimum, by.maximum);
    }
}
