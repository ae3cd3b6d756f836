#include "cmrt/elementwise.h"
#include "rescale.h"

static inline void multiply(const struct cm_short_product *product, const int16_t *lhs, const int16_t *rhs,
                            int32_t rhs_step, int16_t *out, int32_t count)
{
    const struct rescale by = rescale_of(product->multiplier, product->shift, 0);
    const int32x4_t minimum = vdupq_n_s32(product->minimum), maximum = vdupq_n_s32(product->maximum);
    int32x4_t factor = vdupq_n_s32(*rhs);
    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t valid = vctp32q((uint32_t)(count - i));
        if (rhs_step != 0)
            factor = vldrhq_z_s32(rhs + i, valid);
        int32x4_t scaled = rescaled(&by, vmulq_s32(vldrhq_z_s32(lhs + i, valid), factor));
        vstrhq_p_s32(out + i, vminq_s32(vmaxq_s32(scaled, minimum), maximum), valid);
    }
}

void cm_isa_mul_s16(const struct cm_short_product *product, const int16_t *lhs, const int16_t *rhs,
                    int32_t rhs_step, int16_t *out, int32_t count)
{
    if (rhs_step == 0)
        multiply(product, lhs, rhs, 0, out, count);
    else
        multiply(product, lhs, rhs, 1, out, count);
}
