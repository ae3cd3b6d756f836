/* The steps of cm_exp in four lanes. A result is stored unless a subnormal number was flushed on the way to
   it: then cm_exp computes it. */
#include "cmrt/exp.h"
#include "cmrt/flush.h"
#include "cmrt/functions.h"

#include <arm_mve.h>

static inline float32x4_t power_of_two(int32x4_t exponent)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_n_s32(exponent, 127), 23));
}

static inline float32x4_t next_term(float32x4_t tail, float32x4_t r, float term)
{
    return vaddq_n_f32(vmulq_f32(tail, r), term);
}

/* For -104 <= x <= 89. */
static inline float32x4_t exponential(float32x4_t x)
{
    const float log2_e = 1.4426950408889634F, rounder = 12582912.0F;
    const float ln2_high = 0.693359375F, ln2_low = -2.1219444005469057e-4F;
    float32x4_t steps = vsubq_n_f32(vaddq_n_f32(vmulq_n_f32(x, log2_e), rounder), rounder);
    float32x4_t r = vsubq_f32(x, vmulq_n_f32(steps, ln2_high));
    r = vsubq_f32(r, vmulq_n_f32(steps, ln2_low));
    float32x4_t tail = vaddq_n_f32(vmulq_n_f32(r, 1.0F / 5040), 1.0F / 720);
    tail = next_term(tail, r, 1.0F / 120);
    tail = next_term(tail, r, 1.0F / 24);
    tail = next_term(tail, r, 1.0F / 6);
    tail = next_term(tail, r, 0.5F);
    float32x4_t base = vaddq_n_f32(vaddq_f32(vmulq_f32(tail, vmulq_f32(r, r)), r), 1);
    int32x4_t whole = vcvtq_s32_f32(steps), half = vshrq_n_s32(whole, 1);
    return vmulq_f32(vmulq_f32(base, power_of_two(half)), power_of_two(vsubq_s32(whole, half)));
}

void cm_isa_exp_f32(const float *in, float less, float *out, int32_t count)
{
    const float32x4_t zero = vdupq_n_f32(0), most = vdupq_n_f32(89);
    cm_start_watch();
    for (; count > 0; count -= 4, in += 4, out += 4) {
        mve_pred16_t valid = vctp32q((uint32_t)count);
        float32x4_t x = vpselq_f32(vsubq_n_f32(vldrwq_z_f32(in, valid), less), zero, valid);
        x = vpselq_f32(most, x, vcmpgtq_n_f32(x, 89));
        /* Below -104, results are 0; they would be flushed if computed. */
        mve_pred16_t is_zero = vcmpgtq_n_f32(vnegq_f32(x), 104); /* "less" would hold for a NaN */
        float32x4_t result = vpselq_f32(zero, exponential(vpselq_f32(zero, x, is_zero)), is_zero);
        float results[4];
        vstrwq_f32(results, result);
        if (cm_has_flushed()) {
            for (int32_t i = 0; i < 4 && i < count; ++i)
                out[i] = cm_exp(in[i] - less);
            cm_start_watch();
        } else {
            vstrwq_p_f32(out, vldrwq_f32(results), valid);
        }
    }
}
