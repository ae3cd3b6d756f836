/* Product of two int8 matrices with MVE: one row by four columns at a time. */
#include "cmrt/isa.h"

#include <arm_mve.h>

static int32_t sum_row(const int8_t *row, int32_t depth)
{
    int32_t sum = 0;
    if (depth > 0)
        __asm volatile("dlstp.8 lr, %[depth]\n"
                       "1:\n"
                       "vldrb.8 q0, [%[row]], #16\n"
                       "vaddva.s8 %[sum], q0\n"
                       "letp lr, 1b\n"
                       : [sum] "+Te"(sum), [row] "+r"(row)
                       : [depth] "r"(depth)
                       : "q0", "lr", "memory");
    return sum;
}

/* Products of a row with up to four consecutive ones; the last one is repeated to make four.
   Lanes past the depth are loaded as zeros. */
static inline int32x4_t dot(const int8_t *lhs, const int8_t *rhs, int32_t depth, int32_t count)
{
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    const int8_t *rhs1 = rhs + (count > 1 ? depth : 0);
    const int8_t *rhs2 = rhs1 + (count > 2 ? depth : 0);
    const int8_t *rhs3 = rhs2 + (count > 3 ? depth : 0);
    if (depth > 0)
        __asm volatile(
            "dlstp.8 lr, %[depth]\n"
            "1:\n"
            "vldrb.8 q0, [%[lhs]], #16\n"
            "vldrb.8 q1, [%[rhs]], #16\n"
            "vmladava.s8 %[sum0], q0, q1\n"
            "vldrb.8 q2, [%[rhs1]], #16\n"
            "vmladava.s8 %[sum1], q0, q2\n"
            "vldrb.8 q1, [%[rhs2]], #16\n"
            "vmladava.s8 %[sum2], q0, q1\n"
            "vldrb.8 q2, [%[rhs3]], #16\n"
            "vmladava.s8 %[sum3], q0, q2\n"
            "letp lr, 1b\n"
            : [lhs] "+r"(lhs), [rhs] "+r"(rhs), [rhs1] "+r"(rhs1), [rhs2] "+r"(rhs2), [rhs3] "+r"(rhs3),
              [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
            : [depth] "r"(depth)
            : "q0", "q1", "q2", "lr", "memory");
    int32x4_t sums = vdupq_n_s32(sum0);
    sums = vsetq_lane_s32(sum1, sums, 1);
    sums = vsetq_lane_s32(sum2, sums, 2);
    return vsetq_lane_s32(sum3, sums, 3);
}

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
            int32x4_t sums = dot(lhs, m->rhs + c * m->depth, m->depth, left);
            sums = vaddq_n_s32(sums, row_sum);
            sums = vaddq_s32(sums, vldrwq_z_s32(m->column_sums + c, valid));
            int8x16_t result = narrow(rescale(sums, m), &m->output);
            vstrbq_p_s32(out + c, vreinterpretq_s32_s8(result), valid);
        }
    }
}
