#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_mul_s8(const struct cm_product *product, const int8_t *lhs, const int8_t *rhs, int32_t rhs_step,
                   int8_t *out, int32_t count)
{
    const struct cm_rescale *output = &product->output;
    for (int32_t i = 0; i < count; ++i) {
        int32_t value = (*lhs++ - product->lhs_zero_point) * (*rhs - product->rhs_zero_point);
        rhs += rhs_step;
        int32_t scaled = cm_requantize(value, output->multiplier, output->shift);
        *out++ = (int8_t)cm_clamp(cm_wrapping_add(scaled, output->zero_point), INT8_MIN, INT8_MAX);
    }
}
