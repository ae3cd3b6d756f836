/* Product of two int8 matrices with MVE: one row by four columns at a time. */
#include "cmrt/isa.h"
#include "dot_s8.h"

#include <stdbool.h>

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

/* Even and odd ones of the products of a row of eight, with its offset, with eight others. */
struct eight {
    int32x4_t even, odd;
};

static inline struct eight dot_eight(int16x8_t lhs, const int8_t *rhs)
{
    struct eight sums;
    int32_t low, high;
    /* Columns n and n + 4, which go to lanes 0 and 2, or 1 and 3. */
    __asm volatile("vldrb.s16 q0, [%[rhs]]\n"
                   "vldrb.s16 q1, [%[rhs], #32]\n"
                   "vmladav.s16 %[low], %q[lhs], q0\n"
                   "vldrb.s16 q0, [%[rhs], #8]\n"
                   "vmladav.s16 %[high], %q[lhs], q1\n"
                   "vldrb.s16 q1, [%[rhs], #40]\n"
                   "vmov %q[even][2], %q[even][0], %[low], %[high]\n"
                   "vmladav.s16 %[low], %q[lhs], q0\n"
                   "vldrb.s16 q0, [%[rhs], #16]\n"
                   "vmladav.s16 %[high], %q[lhs], q1\n"
                   "vldrb.s16 q1, [%[rhs], #48]\n"
                   "vmov %q[odd][2], %q[odd][0], %[low], %[high]\n"
                   "vmladav.s16 %[low], %q[lhs], q0\n"
                   "vldrb.s16 q0, [%[rhs], #24]\n"
                   "vmladav.s16 %[high], %q[lhs], q1\n"
                   "vldrb.s16 q1, [%[rhs], #56]\n"
                   "vmov %q[even][3], %q[even][1], %[low], %[high]\n"
                   "vmladav.s16 %[low], %q[lhs], q0\n"
                   "vmladav.s16 %[high], %q[lhs], q1\n"
                   "vmov %q[odd][3], %q[odd][1], %[low], %[high]\n"
                   : [even] "=&w"(sums.even), [odd] "=&w"(sums.odd), [low] "=&Te"(low), [high] "=&Te"(high)
                   : [rhs] "l"(rhs), [lhs] "w"(lhs), "m"(*(const int8_t (*)[64])rhs)
                   : "q0", "q1");
    return sums;
}

/* What the outputs of plain products share: they are shifted to the right, to all of int8. */
struct plain {
    int32_t multiplier, shift;
    int16_t zero_point;
};

/* A row by eight columns. row_sum: of the row with its offset, times that of the columns. */
static inline void multiply_eight(const struct plain *plain, int16x8_t row, int32_t row_sum,
                                  const int8_t *rhs, int8_t *out)
{
    struct eight sums = dot_eight(row, rhs);
    sums.even = vqrdmulhq_n_s32(vaddq_n_s32(sums.even, row_sum), plain->multiplier);
    sums.odd = vqrdmulhq_n_s32(vaddq_n_s32(sums.odd, row_sum), plain->multiplier);
    sums.even = vrshlq_n_s32(vqdmlahq_n_s32(sums.even, sums.even, 1), plain->shift);
    sums.odd = vrshlq_n_s32(vqdmlahq_n_s32(sums.odd, sums.odd, 1), plain->shift);
    int16x8_t halves = vreinterpretq_s16_s32(sums.even);
    halves = vqmovntq_s32(vqmovnbq_s32(halves, sums.even), sums.odd);
    halves = vqaddq_n_s16(halves, plain->zero_point);
    int8x16_t bytes = vqmovnbq_s16(vreinterpretq_s8_s16(halves), halves);
    vstrbq_s16(out, vreinterpretq_s16_s8(bytes));
}

static inline struct plain plain_of(const struct cm_matmul *m)
{
    return (struct plain){m->multiplier, m->shift, (int16_t)m->output.zero_point};
}

/* Rows of eight by a multiple of eight columns: those of all products follow each other. */
static __attribute__((noinline)) void multiply_eights(const struct cm_matmul *m)
{
    const struct plain plain = plain_of(m);
    const int32_t columns = m->columns, rhs_offset = m->rhs_offset;
    const int16_t lhs_offset = (int16_t)m->lhs_offset;
    const int8_t *lhs = m->lhs, *rhs = m->rhs;
    int8_t *out = m->out;
    for (int32_t n = 0; n < m->batch; ++n, rhs += 8 * columns)
        for (int32_t r = 0; r < m->rows; ++r, lhs += 8) {
            int16x8_t row = vaddq_n_s16(vldrbq_s16(lhs), lhs_offset);
            int32_t row_sum = vaddvq_s16(row) * rhs_offset;
            for (int32_t c = 0; c < columns; c += 8, out += 8)
                multiply_eight(&plain, row, row_sum, rhs + 8 * c, out);
        }
}

/* The same for a row of eight by eight columns in each product. */
static __attribute__((noinline)) void multiply_rows_of_eight(const struct cm_matmul *m)
{
    const struct plain plain = plain_of(m);
    const int32_t rhs_offset = m->rhs_offset;
    const int16_t lhs_offset = (int16_t)m->lhs_offset;
    const int8_t *lhs = m->lhs, *rhs = m->rhs;
    int8_t *out = m->out;
    for (int32_t n = m->batch; n > 0; --n, lhs += 8, rhs += 64, out += 8) {
        int16x8_t row = vaddq_n_s16(vldrbq_s16(lhs), lhs_offset);
        multiply_eight(&plain, row, vaddvq_s16(row) * rhs_offset, rhs, out);
    }
}

/* The offsets are multiplied out: sum (l + a)(r + b) = sum l r + a sum r + b sum l + depth a b. */
static void multiply(const struct cm_matmul *m)
{
    uint32_t lhs_offset = (uint32_t)m->lhs_offset, rhs_offset = (uint32_t)m->rhs_offset;
    int32_t *column_sums = m->workspace;
    for (int32_t c = 0; c < m->columns; ++c) {
        uint32_t sum = (uint32_t)sum_row(m->rhs + c * m->depth, m->depth);
        column_sums[c] = (int32_t)(lhs_offset * (sum + (uint32_t)m->depth * rhs_offset));
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
            sums = vaddq_s32(sums, vldrwq_z_s32(column_sums + c, valid));
            int8x16_t result = narrow(rescale(sums, m), &m->output);
            vstrbq_p_s32(out + c, vreinterpretq_s32_s8(result), valid);
        }
    }
}

void cm_isa_matmul_s8(const struct cm_matmul *matmul)
{
    struct cm_matmul m = *matmul;
    bool is_plain = m.shift < 0 && m.output.minimum == INT8_MIN && m.output.maximum == INT8_MAX;
    if (m.depth == 8 && m.columns % 8 == 0 && is_plain) {
        (m.rows == 1 && m.columns == 8 ? multiply_rows_of_eight : multiply_eights)(&m);
        return;
    }
    for (int32_t n = 0; n < m.batch; ++n) {
        multiply(&m);
        m.lhs += m.rows * m.depth;
        m.rhs += m.columns * m.depth;
        m.out += m.rows * m.columns;
    }
}
