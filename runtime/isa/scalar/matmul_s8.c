/* Product of two int8 matrices in plain C. */
#include "cmrt/isa.h"

static int32_t sum_row(const int8_t *row, int32_t depth)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < depth; ++k)
        sum += row[k];
    return sum;
}

static int32_t dot(const int8_t *a, const int8_t *b, int32_t depth)
{
    uint32_t sum = 0;
    for (int32_t k = 0; k < depth; ++k)
        sum += (uint32_t)(a[k] * b[k]);
    return (int32_t)sum;
}

/* The offsets are multiplied out: sum (l + a)(r + b) = sum l r + a sum r + b sum l + depth a b. */
static void multiply(const struct cm_matmul *m, const int8_t *lhs, const int8_t *rhs, int8_t *out)
{
    uint32_t lhs_offset = (uint32_t)m->lhs_offset, rhs_offset = (uint32_t)m->rhs_offset;
    int32_t *column_sums = m->workspace;
    for (int32_t c = 0; c < m->columns; ++c) {
        uint32_t sum = (uint32_t)sum_row(rhs + c * m->depth, m->depth);
        column_sums[c] = (int32_t)(lhs_offset * (sum + (uint32_t)m->depth * rhs_offset));
    }
    for (int32_t r = 0; r < m->rows; ++r, lhs += m->depth) {
        int32_t row_sum = (int32_t)(rhs_offset * (uint32_t)sum_row(lhs, m->depth));
        for (int32_t c = 0; c < m->columns; ++c) {
            int32_t sum = cm_wrapping_add(dot(lhs, rhs + c * m->depth, m->depth), row_sum);
            sum = cm_wrapping_add(sum, column_sums[c]);
            *out++ = cm_output_s8(&m->output, sum, m->multiplier, m->shift);
        }
    }
}

void cm_isa_matmul_s8(const struct cm_matmul *matmul)
{
    const int8_t *lhs = matmul->lhs, *rhs = matmul->rhs;
    int8_t *out = matmul->out;
    for (int32_t n = 0; n < matmul->batch; ++n) {
        multiply(matmul, lhs, rhs, out);
        lhs += matmul->rows * matmul->depth;
        rhs += matmul->columns * matmul->depth;
        out += matmul->rows * matmul->columns;
    }
}
