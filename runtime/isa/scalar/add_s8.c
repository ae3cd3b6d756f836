#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

/* Left shift of an int8 operand before it is rescaled. */
#define LEFT_SHIFT 20

static int32_t rescaled(const struct cm_rescale *scale, int32_t x)
{
    uint32_t wide = (uint32_t)(x - scale->zero_point) << LEFT_SHIFT;
    return cm_requantize((int32_t)wide, scale->multiplier, scale->shift);
}

void cm_isa_add_s8(const struct cm_sum *sum, const int8_t *lhs, const int8_t *rhs, int32_t rhs_step,
                   int8_t *out, int32_t count)
{
    const struct cm_rescale *output = &sum->output;
    for (int32_t i = 0; i < count; ++i) {
        int32_t total = cm_wrapping_add(rescaled(&sum->lhs, *lhs++), rescaled(&sum->rhs, *rhs));
        rhs += rhs_step;
        int32_t scaled = cm_requantize(total, output->multiplier, output->shift);
        *out++ = (int8_t)cm_clamp(cm_wrapping_add(scaled, output->zero_point), sum->minimum, sum->maximum);
    }
}
