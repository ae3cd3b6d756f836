/* Matrix product of int16 rows by int8 weights without SIMD, with sums that fit 32 bits: rows in pairs, an
   odd last one alone. */
#include "cmrt/isa.h"
#include "cmrt/short_output.h"
#include "short_product.h"

enum { COLUMNS = 4, OFFSET = 128, SIGN = 0x8000 };

/* Four columns: their weights plus 128 follow, depth by depth. */
struct block {
    uint32_t bias[COLUMNS]; /* less 32768 times the sum of the weights */
    int32_t multiplier[COLUMNS], places[COLUMNS];
};

/* A pair of rows, or one, plus 32768 in the workspace, and what their sums are too large by. */
struct rows {
    short_function *multiply;
    int32_t count;
    uint32_t excess[2];
};

/* Words of both rows of a pair, from depth `from` on; sum: of all words, next_sum: of their upper halves. */
static void pack_words(uint32_t *out, const int16_t *row, const int16_t *next, int32_t depth,
                       uint32_t *excess)
{
    const uint32_t signs = UINT32_C(0x80008000);
    uint32_t sum = 0, next_sum = 0;
    int32_t k = 0;
    if (((uintptr_t)row | (uintptr_t)next) % 4 == 0)
        for (; k + 2 <= depth; k += 2, out += 2) {
            uint32_t two, after;
            memcpy(&two, __builtin_assume_aligned(row + k, 4), 4);
            memcpy(&after, __builtin_assume_aligned(next + k, 4), 4);
            two ^= signs;
            after ^= signs;
            const uint32_t first = (two & 0xffff) | after << 16, second = two >> 16 | after >> 16 << 16;
            out[0] = first;
            out[1] = second;
            sum += first + second;
            next_sum += (first >> 16) + (second >> 16);
        }
    for (; k < depth; ++k) {
        const uint32_t word = ((uint16_t)row[k] | (uint32_t)(uint16_t)next[k] << 16) ^ signs;
        *out++ = word;
        sum += word;
        next_sum += word >> 16;
    }
    excess[0] = OFFSET * (sum - (next_sum << 16));
    excess[1] = OFFSET * next_sum;
}

static void pack_row(uint16_t *out, const int16_t *row, int32_t depth, uint32_t *excess)
{
    uint32_t sum = 0;
    for (int32_t k = 0; k < depth; ++k) {
        const uint16_t x = (uint16_t)(row[k] ^ SIGN);
        *out++ = x;
        sum += x;
    }
    *excess = OFFSET * sum;
}

static void pack(const struct cm_gemm *gemm, struct rows *rows, int32_t depth)
{
    const int16_t *row = (const int16_t *)(const void *)gemm->lhs;
    const int16_t *next = (const int16_t *)(const void *)(gemm->lhs + gemm->lhs_stride);
    if (rows->count == 2)
        pack_words(gemm->workspace, row, next, depth, rows->excess);
    else
        pack_row(gemm->workspace, row, depth, rows->excess);
}

/* How outputs are limited: to int16, to its numbers from 0 on, or to any others. */
enum limits { WHOLE, RECTIFIED, OTHERS };

static enum limits limits_of(const struct cm_short_range *range)
{
#if defined(__thumb2__) && !defined(CM_PORTABLE)
    if (range->maximum == INT16_MAX && range->minimum == INT16_MIN)
        return WHOLE;
    if (range->maximum == INT16_MAX && range->minimum == 0)
        return RECTIFIED;
#else
    (void)range;
#endif
    return OTHERS;
}

/* Half of a number, limited. */
static inline int32_t limited(int32_t twice, enum limits limits, int32_t minimum, int32_t maximum)
{
#if defined(__thumb2__) && !defined(CM_PORTABLE)
    int32_t result;
    if (limits == WHOLE) {
        __asm("ssat %0, #16, %1, asr #1" : "=r"(result) : "r"(twice));
        return result;
    }
    if (limits == RECTIFIED) {
        __asm("usat %0, #15, %1, asr #1" : "=r"(result) : "r"(twice));
        return result;
    }
#else
    (void)limits;
#endif
    return cm_clamp(twice >> 1, minimum, maximum);
}

/* Outputs of a block's first columns. */
static inline void output_limited(const struct cm_short_range *range, const struct block *block,
                                  const uint32_t *sums, uint32_t excess, int16_t *out, int32_t columns,
                                  enum limits limits)
{
    const int32_t minimum = range->minimum, maximum = range->maximum;
    const uint32_t *bias = block->bias;
    const int32_t *multiplier = block->multiplier, *places = block->places;
    for (const uint32_t *end = sums + columns; sums < end; ++sums) {
        const int32_t sum = (int32_t)(*sums - excess + *bias++);
        const int32_t twice = cm_scale_down(sum, *multiplier++, *places++) + 1;
        *out++ = (int16_t)limited(twice, limits, minimum, maximum);
    }
}

static void output(const struct cm_short_range *range, const struct block *block, const uint32_t *sums,
                   uint32_t excess, int16_t *out, int32_t columns)
{
    const enum limits limits = limits_of(range);
    if (limits == WHOLE)
        output_limited(range, block, sums, excess, out, columns, WHOLE);
    else if (limits == RECTIFIED)
        output_limited(range, block, sums, excess, out, columns, RECTIFIED);
    else
        output_limited(range, block, sums, excess, out, columns, OTHERS);
}

static void multiply(const struct cm_gemm *gemm, const struct rows *rows, int32_t depth)
{
    const struct cm_short_range *range = gemm->weights;
    const struct block *block = (const struct block *)(range + 1);
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t);
    for (int32_t column = 0; column < columns; column += COLUMNS) {
        const uint8_t *weights = (const uint8_t *)(block + 1);
        const int32_t left = columns - column, count = left < COLUMNS ? left : COLUMNS;
        uint32_t sums[2][COLUMNS];
        rows->multiply(sums[0], gemm->workspace, weights, depth);
        for (int32_t r = 0; r < rows->count; ++r) {
            int16_t *out = (int16_t *)(void *)(gemm->out + r * gemm->out_stride);
            output(range, block, sums[r], rows->excess[r], out + column, count);
        }
        block = (const struct block *)(const void *)(weights + depth * COLUMNS);
    }
}

void cm_isa_gemm_s16(const struct cm_gemm *gemm)
{
    const int32_t depth = gemm->depth / (int32_t)sizeof(int16_t);
    struct cm_gemm left = *gemm;
    while (left.rows > 0) {
        struct rows rows = {cm_scalar_multiply_shorts, 2, {0}};
        if (left.rows == 1)
            rows = (struct rows){cm_scalar_multiply_shorts_by_row, 1, {0}};
        pack(&left, &rows, depth);
        multiply(&left, &rows, depth);
        left.rows -= rows.count;
        left.lhs += rows.count * left.lhs_stride;
        left.out += rows.count * left.out_stride;
    }
}
