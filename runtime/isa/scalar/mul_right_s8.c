#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_mul_right_s8(const struct cm_product *product, const int8_t *lhs, const int8_t *rhs,
                         int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_product by = *product;
    int32_t right = -by.output.shift;
    /* Halves round away from zero; without a shift there are none. */
    int32_t half = right == 0 ? 0 : 1 << (right - 1), below_zero = right == 0 ? 0 : -1;
    for (int32_t i = 0; i < count; ++i) {
        int32_t value = (*lhs++ - by.lhs_zero_point) * (*rhs - by.rhs_zero_point);
        rhs += rhs_step;
        int32_t high = cm_doubling_high_multiply_short(value, by.output.multiplier);
        high += half + (high < 0 ? below_zero : 0);
        *out++ = (int8_t)cm_clamp((high >> right) + by.output.zero_point, INT8_MIN, INT8_MAX);
    }
}
