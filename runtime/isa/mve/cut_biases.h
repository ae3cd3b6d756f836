/* Products of cut_product.h of int8 rows: a block's biases are those of the padding. */
#ifndef CUT_BIASES_H
#define CUT_BIASES_H

#include "cut_product.h"

#include <arm_mve.h>

enum { MOST_COLUMNS = 32 /* whose biases are in memory at once */ };

struct operands {
    const struct cm_cut_gemm *gemm;
    int32_t bias[MOST_COLUMNS];
};

/* Weights of int8 rows.

   bytes: of a block for each byte of a row.
   add: adds products of so many chunks of a block with the padding to its sums; returns where the next ones
   lie. */
struct byte_weights {
    int32_t bytes;
    const int8_t *(*add)(int32_t sums[COLUMNS], const int8_t *weights, int32_t chunks, int8x16_t padding);
};

/* Biases of blocks from `weights` on, with what the padding adds to sums. */
static inline void find_biases(int32_t *bias, const struct cm_cut_gemm *gemm, struct byte_weights type,
                               int32_t columns, const int8_t *weights)
{
    const int32_t depth = gemm->product.depth, part = gemm->part, left = gemm->left;
    const int8x16_t padding = vdupq_n_s8(gemm->padding);
    const int32_t chunks = (part - left) / CHUNK, missing = gemm->first > 0 ? 0 : left * type.bytes;
    for (int32_t at = 0; at < columns; at += COLUMNS) {
        const struct block *const block = (const void *)weights;
        weights += (int32_t)sizeof *block + missing;
        int32_t sums[COLUMNS] = {block->bias[0], block->bias[1], block->bias[2], block->bias[3]};
        for (int32_t parts = depth; parts > 0; parts -= part)
            weights = type.add(sums, weights, chunks, padding) + left * type.bytes;
        weights -= missing;
        bias[at] = sums[0], bias[at + 1] = sums[1], bias[at + 2] = sums[2], bias[at + 3] = sums[3];
    }
}

/* By some columns at a time, of which `weights` are the blocks. */
static inline void multiply_columns(const struct cm_cut_gemm *gemm, struct byte_weights type,
                                    const int8_t *weights,
                                    void (*multiply)(const struct operands *, product_loop *),
                                    product_loop *loop)
{
    const int32_t block = (int32_t)sizeof(struct block) + gemm->product.depth * type.bytes;
    struct cm_cut_gemm some = *gemm;
    struct operands operands;
    operands.gemm = &some;
    for (int32_t columns = gemm->product.columns; columns > 0; columns -= MOST_COLUMNS) {
        const int32_t count = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
        some.product.columns = count;
        some.product.weights = weights;
        find_biases(operands.bias, gemm, type, count, weights);
        multiply(&operands, loop);
        weights += count / COLUMNS * block;
        some.product.out += count;
    }
}

#endif
