/* Product of two int8 matrices with the DSP extension: a row, widened once, by two columns at a time. */
#include "cmrt/arithmetic.h"
#include "cmrt/isa.h"
#include "short_output.h"

#include <stdbool.h>

enum { DEPTHS = 4, LOWER = 0xffff };

/* A widened row. */
struct row {
    const uint32_t *words, *end;
    int32_t sum; /* times the offset of columns */
};

/* Offsets a row; zeros follow up to a multiple of four. Up to three bytes after it are read. Returns the sum.
 */
static int32_t widen_row(uint32_t *out, const int8_t *row, int32_t depth, int32_t offset)
{
    const int16x2_t both = (int16x2_t)(((uint32_t)offset & LOWER) | (uint32_t)offset << 16);
    int32_t sum = 0;
    for (; depth > 0; depth -= DEPTHS, row += DEPTHS, out += 2) {
        uint32_t word = load_bytes(row);
        uint32_t even = (uint32_t)__sadd16((int16x2_t)widen_even(word), both);
        uint32_t odd = (uint32_t)__sadd16((int16x2_t)widen_odd(word), both);
        if (depth < DEPTHS) {
            even &= depth < 3 ? LOWER : UINT32_MAX;
            odd &= depth < 2 ? 0 : LOWER;
        }
        out[0] = even;
        out[1] = odd;
        sum = multiply_pairs(even, 0x10001, multiply_pairs(odd, 0x10001, sum));
    }
    return sum;
}

static inline int32_t multiply_four(const uint32_t *words, const int8_t *column, int32_t sum)
{
    uint32_t four = load_bytes(column);
    return multiply_pairs(words[1], widen_odd(four), multiply_pairs(words[0], widen_even(four), sum));
}

/* Columns of five to eight depths. */
static void multiply_shallow(const struct row *row, struct rescale rescale, const int8_t *column,
                             int32_t depth, int8_t *out, const int8_t *end)
{
    const uint32_t words[DEPTHS] = {row->words[0], row->words[1], row->words[2], row->words[3]};
    const int32_t start = row->sum;
    for (; out < end; column += depth) {
        int32_t sum = multiply_four(words, column, start);
        *out++ = short_output(rescale, multiply_four(words + 2, column + DEPTHS, sum));
    }
}

/* Two columns at a time; the same twice for the last one of an odd number. */
static void multiply_columns(const struct row *row, const struct cm_matmul *m, struct rescale rescale,
                             const int8_t *columns, int8_t *out)
{
    for (int32_t c = 0; c < m->columns; c += 2) {
        const int32_t last = c + 1 < m->columns ? c + 1 : c;
        const int8_t *column = columns + c * m->depth, *next = columns + last * m->depth;
        int32_t sum = row->sum, next_sum = sum;
        for (const uint32_t *words = row->words; words < row->end; words += 2) {
            sum = multiply_four(words, column, sum);
            next_sum = multiply_four(words, next, next_sum);
            column += DEPTHS;
            next += DEPTHS;
        }
        if (rescale.multiplier != 0) {
            out[c] = short_output(rescale, sum);
            out[last] = short_output(rescale, next_sum);
        } else {
            out[c] = cm_output_s8(&m->output, sum, m->multiplier, m->shift);
            out[last] = cm_output_s8(&m->output, next_sum, m->multiplier, m->shift);
        }
    }
}

/* Sums of at most 2^13 products are below 2^29. A multiplier of 0: any other output. */
static struct rescale rescale_of(const struct cm_matmul *m)
{
    const bool is_whole = m->output.minimum == INT8_MIN && m->output.maximum == INT8_MAX;
    if (!is_whole || m->shift > -2 || m->multiplier < 1 << 30 || m->depth > 1 << 13)
        return (struct rescale){0, 0, 0};
    return short_rescale(m->multiplier, m->shift, m->output.zero_point);
}

void cm_isa_matmul_s8(const struct cm_matmul *m)
{
    const struct rescale rescale = rescale_of(m);
    const int8_t *lhs = m->lhs, *rhs = m->rhs;
    int8_t *out = m->out;
    uint32_t *words = m->workspace;
    const uint32_t *end = words + (m->depth + DEPTHS - 1) / DEPTHS * 2;
    const bool is_shallow = end - words == 4 && rescale.multiplier != 0;
    for (int32_t n = 0; n < m->batch; ++n, rhs += m->columns * m->depth)
        for (int32_t r = 0; r < m->rows; ++r, lhs += m->depth, out += m->columns) {
            const int32_t sum = m->rhs_offset * widen_row(words, lhs, m->depth, m->lhs_offset);
            const struct row row = {words, end, sum};
            if (is_shallow)
                multiply_shallow(&row, rescale, rhs, m->depth, out, out + m->columns);
            else
                multiply_columns(&row, m, rescale, rhs, out);
        }
}
