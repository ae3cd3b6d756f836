#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_mul_s16(const struct cm_short_product *product, const int16_t *lhs, const int16_t *rhs,
                    int32_t rhs_step, int16_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        int32_t scaled = cm_requantize(*lhs++ * *rhs, product->multiplier, product->shift);
        rhs += rhs_step;
        *out++ = (int16_t)cm_clamp(scaled, product->minimum, product->maximum);
    }
}
