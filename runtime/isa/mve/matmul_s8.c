/* Product of two int8 matrices with MVE: one row by four columns at a time. */
#include "cmrt/isa.h"
#include "dot_s8.h"

/* For the rounding see product.h. */
static inline int32x4_t rescale(int32x4_t sums, const struct cm_matmul *m)
{
    int32_t right = m->shift < 0 ? m->shift : 0;
    sums = vqrdmulhq_n_s32(vshlq_r_s32(sums, m->shift - right), m->multiplier);
    return vrshlq_n_s32(vqdmlahq_n_s32(sums, sums, right < 0), right);
}

static inline int8x16_t narrow(int32x4_t scaled, const struct cm_output *output)
{
    int16x8_t halves = vqmovnbq_s32(vdupq_n_s16(0), scaled);
    halves = vqaddq_n_s16(halves, (int16_t)output->zero_point);
    halves = vmaxq_s16(halves, vdupq_n_s16((int16_t)output->minimum));
    halves = vminq_s16(halves, vdupq_n_s16((int16_t)output->maximum));
    return vreinterpretq_s8_s16(halves);
}

/* The offsets are multiplied out: sum (l + a)(r + b) = sum l r + a sum r + b sum l + depth a b. */
void cm_isa_matmul_s8(const struct cm_matmul *m)
{
    uint32_t lhs_offset = (uint32_t)m->lhs_offset, rhs_offset = (uint32_t)m->rhs_offset;
    for (int32_t c = 0; c < m->columns; ++c) {
        uint32_t sum = (uint32_t)sum_row(m->rhs + c * m->depth, m->depth);
        m->column_sums[c] = (int32_t)(lhs_offset * (sum + (uint32_t)m->depth * rhs_offset));
    }
    int8_t *out = m->out;
    for (int32_t r = 0; r < m->rows; ++r, out += m->columns) {
        const int8_t *lhs = m->lhs + r * m->depth;
        int32_t row_sum = (int32_t)(rhs_offset * (uint32_t)sum_row(lhs, m->depth));
        for (int32_t c = 0; c < m->columns; c += 4) {
            int32_t left = m->columns - c;
            mve_pred16_t valid = vctp32q((uint32_t)left);
            int32x4_t sums = dot(lhs, m->rhs + c * m->depth, m->depth, m->depth, left);
            sums = vaddq_n_s32(sums, row_sum);
            sums = vaddq_s32(sums, vldrwq_z_s32(m->column_sums + c, valid));
            int8x16_t result = narrow(rescale(sums, m), &m->output);
            vstrbq_p_s32(out + c, vreinterpretq_s32_s8(result), valid);
        }
    }
}
