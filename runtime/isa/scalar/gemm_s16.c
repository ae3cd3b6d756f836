/* Matrix product of int16 rows by int8 weights without SIMD, with sums that fit 32 bits: rows in pairs, an
   odd last one alone. */
#include "cmrt/isa.h"
#include "cmrt/short_output.h"
#include "short_product.h"
#include "short_rows.h"

enum { ROWS = 2 };

/* Four columns: their weights plus 128 follow, depth by depth, of an even number of them. */
struct block {
    /* Less 32768 times the sum of the weights, and less what short_product.h says of words of weights. */
    uint32_t bias[COLUMNS];
    int32_t multiplier[COLUMNS], places[COLUMNS];
};

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
                                  const uint32_t *sums, int16_t *out, int32_t columns, enum limits limits)
{
    const int32_t minimum = range->minimum, maximum = range->maximum;
    const uint32_t *bias = block->bias;
    const int32_t *multiplier = block->multiplier, *places = block->places;
    for (const uint32_t *end = sums + columns; sums < end; ++sums) {
        const int32_t sum = (int32_t)(*sums + *bias++);
        const int32_t twice = cm_scale_down(sum, *multiplier++, *places++) + 1;
        *out++ = (int16_t)limited(twice, limits, minimum, maximum);
    }
}

static void output(const struct cm_short_range *range, const struct block *block, const uint32_t *sums,
                   int16_t *out, int32_t columns)
{
    const enum limits limits = limits_of(range);
    if (limits == WHOLE)
        output_limited(range, block, sums, out, columns, WHOLE);
    else if (limits == RECTIFIED)
        output_limited(range, block, sums, out, columns, RECTIFIED);
    else
        output_limited(range, block, sums, out, columns, OTHERS);
}

static void multiply(const struct cm_gemm *gemm, int32_t rows, int32_t pairs)
{
    const struct cm_short_range *range = gemm->weights;
    const struct block *block = (const struct block *)(range + 1);
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t);
    for (int32_t column = 0; column < columns; column += COLUMNS) {
        const uint8_t *weights = (const uint8_t *)(block + 1);
        const int32_t left = columns - column, count = left < COLUMNS ? left : COLUMNS;
        uint32_t sums[ROWS][COLUMNS];
        cm_scalar_multiply_shorts(sums[0], gemm->workspace, weights, pairs, sums[rows]);
        for (int32_t r = 0; r < rows; ++r) {
            int16_t *out = (int16_t *)(void *)(gemm->out + r * gemm->out_stride);
            output(range, block, sums[r], out + column, count);
        }
        block = (const struct block *)(const void *)(weights + pairs * 2 * COLUMNS);
    }
}

static void pack(const struct cm_gemm *gemm, int32_t rows, int32_t pairs)
{
    for (int32_t r = 0; r < rows; ++r)
        cm_scalar_pack_shorts(short_row_at(gemm->workspace, r, pairs), 0, gemm->lhs + r * gemm->lhs_stride,
                              gemm->depth / (int32_t)sizeof(int16_t));
}

void cm_isa_gemm_s16(const struct cm_gemm *gemm)
{
    const int32_t pairs = short_pairs(gemm->depth / (int32_t)sizeof(int16_t));
    struct cm_gemm left = *gemm;
    while (left.rows > 0) {
        const int32_t rows = left.rows < ROWS ? left.rows : ROWS;
        if (left.lhs != NULL)
            pack(&left, rows, pairs);
        multiply(&left, rows, pairs);
        left.rows -= rows;
        left.lhs += rows * left.lhs_stride;
        left.out += rows * left.out_stride;
    }
}
