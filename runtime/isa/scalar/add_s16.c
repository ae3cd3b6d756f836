#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

/* Left shift of an int16 operand before it is rescaled. */
#define LEFT_SHIFT 15

static int32_t rescaled(const struct cm_rescale *scale, int32_t x)
{
    int32_t wide = (int32_t)((uint32_t)x << LEFT_SHIFT);
    if (scale->multiplier < 0)
        return -cm_requantize(wide, -scale->multiplier, scale->shift);
    return cm_requantize(wide, scale->multiplier, scale->shift);
}

void cm_isa_add_s16(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs, int32_t rhs_step,
                    int16_t *out, int32_t count)
{
    const struct cm_rescale *output = &sum->output;
    for (int32_t i = 0; i < count; ++i) {
        int32_t total = cm_wrapping_add(rescaled(&sum->lhs, *lhs++), rescaled(&sum->rhs, *rhs));
        rhs += rhs_step;
        int32_t scaled = cm_requantize(total, output->multiplier, output->shift);
        *out++ = (int16_t)cm_clamp(scaled, sum->minimum, sum->maximum);
    }
}
