#include "cmrt/change_scale.h"

#include <arm_mve.h>

static inline int32x4_t changed(const struct cm_change_scale *by, int32x4_t x)
{
    int32x4_t lower = vaddq_n_s32(vmulq_n_s32(x, by->lower), by->lower_constant);
    int32x4_t sum = vmlaq_n_s32(vaddq_n_s32(vshrq_n_s32(lower, 16), by->upper_constant), x, by->upper);
    return vaddq_n_s32(vshlq_r_s32(sum, -by->shift), by->after);
}

void cm_isa_change_scale(const struct cm_change_scale *op, const void *in, void *out)
{
    const struct cm_change_scale by = *op;
    const int32x4_t minimum = vdupq_n_s32(by.minimum), maximum = vdupq_n_s32(by.maximum);
    if (by.source == 2 && by.to == 1)
        for (int32_t i = 0; i < by.count; i += 4) {
            mve_pred16_t valid = vctp32q((uint32_t)(by.count - i));
            int32x4_t x = changed(&by, vldrhq_z_s32((const int16_t *)in + i, valid));
            vstrbq_p_s32((int8_t *)out + i, vminq_s32(vmaxq_s32(x, minimum), maximum), valid);
        }
    else if (by.source == 1 && by.to == 2)
        for (int32_t i = 0; i < by.count; i += 4) {
            mve_pred16_t valid = vctp32q((uint32_t)(by.count - i));
            int32x4_t x = changed(&by, vldrbq_z_s32((const int8_t *)in + i, valid));
            vstrhq_p_s32((int16_t *)out + i, vminq_s32(vmaxq_s32(x, minimum), maximum), valid);
        }
    else if (by.source == 2 && by.to == 2)
        for (int32_t i = 0; i < by.count; i += 4) {
            mve_pred16_t valid = vctp32q((uint32_t)(by.count - i));
            int32x4_t x = changed(&by, vldrhq_z_s32((const int16_t *)in + i, valid));
            vstrhq_p_s32((int16_t *)out + i, vminq_s32(vmaxq_s32(x, minimum), maximum), valid);
        }
    else
        cm_change_scale_all(by, in, out, by.source, by.to);
}
