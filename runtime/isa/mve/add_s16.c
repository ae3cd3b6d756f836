#include "cmrt/short_sum.h"
#include "rescale.h"

struct operand {
    struct rescale by;
    int32_t sign;
};

static inline struct operand operand_of(const struct cm_rescale *scale)
{
    int32_t sign = scale->multiplier < 0 ? -1 : 1;
    return (struct operand){rescale_of(sign * scale->multiplier, scale->shift, CM_SHORT_SUM_SHIFT), sign};
}

static inline void add(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs, int32_t rhs_step,
                       int16_t *out, int32_t count)
{
    const struct operand left = operand_of(&sum->lhs), right = operand_of(&sum->rhs);
    const struct rescale output = rescale_of(sum->output.multiplier, sum->output.shift, 0);
    const int32x4_t minimum = vdupq_n_s32(sum->minimum), maximum = vdupq_n_s32(sum->maximum);
    int32x4_t one = vmulq_n_s32(rescaled(&right.by, vdupq_n_s32(*rhs)), right.sign);
    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t valid = vctp32q((uint32_t)(count - i));
        int32x4_t total = one;
        if (rhs_step != 0)
            total = vmulq_n_s32(rescaled(&right.by, vldrhq_z_s32(rhs + i, valid)), right.sign);
        total = vmlaq_n_s32(total, rescaled(&left.by, vldrhq_z_s32(lhs + i, valid)), left.sign);
        total = rescaled(&output, total);
        vstrhq_p_s32(out + i, vminq_s32(vmaxq_s32(total, minimum), maximum), valid);
    }
}

void cm_isa_add_s16(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs, int32_t rhs_step,
                    int16_t *out, int32_t count)
{
    if (rhs_step == 0)
        add(sum, lhs, rhs, 0, out, count);
    else
        add(sum, lhs, rhs, 1, out, count);
}
