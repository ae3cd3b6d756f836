#include "cmrt/bilinear.h"

#include <arm_mve.h>

/* VQRDMULH rounds the product's 15 fractional bits as the reference does; differences of pixels fit 16 bits.
 */
static inline int16x8_t blend(int16x8_t low, int16x8_t high, int16_t weight)
{
    return vaddq_s16(low, vqrdmulhq_n_s16(vsubq_s16(high, low), weight));
}

static void blend_rows(const struct cm_bilinear_row *row)
{
    int16_t weight = (int16_t)row->weight;
    for (int32_t i = 0; i < row->count; i += 8) {
        int16x8_t low = vshlq_n_s16(vldrbq_s16(row->low + i), CM_BILINEAR_FRACTION);
        int16x8_t high = vshlq_n_s16(vldrbq_s16(row->high + i), CM_BILINEAR_FRACTION);
        vst1q_s16(row->blended + i, blend(low, high, weight));
    }
}

void cm_isa_bilinear_row_s8(const struct cm_bilinear_row *row)
{
    int8_t *out = row->out;
    blend_rows(row);
    for (int32_t x = 0; x < row->width; ++x, out += row->channels) {
        const int16_t *low = row->blended + row->columns[x].low, *high = row->blended + row->columns[x].high;
        int16_t weight = (int16_t)row->columns[x].weight;
        for (int32_t c = 0; c < row->channels; c += 8) {
            mve_pred16_t rest = vctp16q((uint32_t)(row->channels - c));
            int16x8_t blended = blend(vld1q_z_s16(low + c, rest), vld1q_z_s16(high + c, rest), weight);
            vstrbq_p_s16(out + c, vrshrq_n_s16(blended, CM_BILINEAR_FRACTION), rest);
        }
    }
}
