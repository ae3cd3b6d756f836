/* The outputs of rows of sums, as the products without SIMD make them. */
#ifndef ROW_OUTPUT_H
#define ROW_OUTPUT_H

#include "cmrt/isa.h"
#include "output.h"
#include "row_product.h"

#include <stddef.h>

/* How the sums of a row become outputs. */
struct row_output {
    uint32_t offset; /* of all sums: added */
    struct limits limits;
    int32_t size;   /* of the sums, in bytes */
    int32_t stride; /* from a row of outputs to the next */
    const struct row_output *next;
};

/* Outputs at the columns of a block, row by row, for any rounding. */
static inline void output_any(const struct cm_gemm *gemm, const struct block *block, const uint32_t *sums,
                              const struct row_output *row, int8_t *out)
{
    for (; row != NULL; out += row->stride, row = row->next, sums += COLUMNS)
        for (int32_t i = 0; i < row->size / (int32_t)sizeof *sums; ++i) {
            int32_t sum = (int32_t)(sums[i] + row->offset + (uint32_t)block->bias[i]);
            out[i] = cm_output_s8(&gemm->output, sum, block->multiplier[i], block->shift[i]);
        }
}

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
void cm_scalar_output_any(const struct cm_gemm *gemm, const struct block *block, const uint32_t *sums,
                          const struct row_output *row, int8_t *out);

/* The same, unless the rounding is general. */
void cm_scalar_output_rows(const uint32_t *sums, const struct block *block, int8_t *out,
                           const struct row_output *row);

#endif

static inline void output_rows(const struct cm_gemm *gemm, const struct block *block, const uint32_t *sums,
                               const struct row_output *row, int8_t *out)
{
#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
    if (__builtin_expect(gemm->output.rounding == CM_ROUND_GENERAL, 0))
        cm_scalar_output_any(gemm, block, sums, row, out);
    else
        cm_scalar_output_rows(sums, block, out, row);
#else
    output_any(gemm, block, sums, row, out);
#endif
}

/* Of the columns that are left. */
static inline int32_t columns_of_block(int32_t left)
{
    return left < COLUMNS ? left : COLUMNS;
}

#endif
