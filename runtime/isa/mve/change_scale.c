#include "cmrt/change_scale.h"

#include <arm_mve.h>

static inline int32x4_t changed(const struct cm_change_scale *by, int32x4_t x)
{
    int32x4_t lower = vaddq_n_s32(vmulq_n_s32(x, by->lower), by->lower_constant);
    int32x4_t sum = vmlaq_n_s32(vaddq_n_s32(vshrq_n_s32(lower, 16), by->upper_constant), x, by->upper);
    return vaddq_n_s32(vshlq_r_s32(sum, -by->shift), by->after);
}

/* `from` and `to` are the op's, constant in each loop. */
static inline __attribute__((always_inline)) void change(const struct cm_change_scale *by, const void *in,
                                                         void *out, int32_t from, int32_t to)
{
    const int32x4_t minimum = vdupq_n_s32(by->minimum), maximum = vdupq_n_s32(by->maximum);
    for (int32_t i = 0; i < by->count; i += 4) {
        mve_pred16_t valid = vctp32q((uint32_t)(by->count - i));
        int32x4_t x = from == 2 ? vldrhq_z_s32((const int16_t *)in + i, valid)
                                : vldrbq_z_s32((const int8_t *)in + i, valid);
        int32x4_t y = vminq_s32(vmaxq_s32(changed(by, x), minimum), maximum);
        if (to == 2)
            vstrhq_p_s32((int16_t *)out + i, y, valid);
        else
            vstrbq_p_s32((int8_t *)out + i, y, valid);
    }
}

void cm_isa_change_scale(const struct cm_change_scale *op, const void *in, void *out)
{
    const struct cm_change_scale by = *op;
    if (by.source == 2 && by.to == 1)
        change(&by, in, out, 2, 1);
    else if (by.source == 1 && by.to == 2)
        change(&by, in, out, 1, 2);
    else if (by.source == 2 && by.to == 2)
        change(&by, in, out, 2, 2);
    else
        cm_change_scale_all(by, in, out, by.source, by.to);
}
