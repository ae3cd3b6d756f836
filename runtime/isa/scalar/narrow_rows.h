/* One or two rows times a matrix of weights of four bits, block by block. */
#ifndef NARROW_ROWS_H
#define NARROW_ROWS_H

#include "nibble_product.h"
#include "row_output.h"

enum { OFFSET = 8 }; /* of weights */

/* Rows in the workspace, offset by 128, and what is added to their sums. */
struct narrow_rows {
    nibble_function *multiply;
    int32_t count;
    uint32_t offset[2];
};

static inline void multiply_narrow(const struct cm_gemm *gemm, const struct narrow_rows *rows)
{
    const int32_t words = nibble_words(gemm->depth);
    const struct limits limits = limits_of(&gemm->output);
    struct row_output second = {rows->offset[1], limits, 0, 0, NULL};
    struct row_output first = {rows->offset[0], limits, 0, gemm->out_stride,
                               rows->count > 1 ? &second : NULL};
    const uint8_t *packed = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint32_t *weights = (const uint32_t *)(const void *)(block + 1);
        uint32_t sums[2 * COLUMNS];
        rows->multiply(sums, gemm->workspace, weights, words);
        first.size = second.size = columns_of_block(gemm->columns - c) * (int32_t)sizeof *sums;
        output_rows(gemm, block, sums, &first, gemm->out + c);
        packed = (const uint8_t *)(weights + words);
    }
}

#endif
