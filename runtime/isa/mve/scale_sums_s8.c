#include "cmrt/sum_groups.h"

#include <arm_mve.h>

/* A rounding shift to the right moves halves up; negative numbers are one less before it, so that halves move
   away from zero. */
void cm_isa_scale_sums_s8(const struct cm_sum_scale *scale, const int32_t *sums, int8_t *out, int32_t count)
{
    const int32_t left = scale->shift > 0 ? scale->shift : 0;
    const int32x4_t right = vdupq_n_s32(scale->shift - left);
    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t valid = vctp32q((uint32_t)(count - i));
        int32x4_t x = vaddq_n_s32(vldrwq_z_s32(sums + i, valid), scale->input_offset);
        x = vqrdmulhq_n_s32(vshlq_r_s32(x, left), scale->multiplier);
        x = vqaddq_s32(x, vshrq_n_s32(vandq_s32(x, right), 31));
        x = vqaddq_n_s32(vrshlq_s32(x, right), scale->zero_point);
        x = vmaxq_s32(vminq_s32(x, vdupq_n_s32(INT8_MAX)), vdupq_n_s32(INT8_MIN));
        vstrbq_p_s32(out + i, x, valid);
    }
}
