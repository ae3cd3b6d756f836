/* Products of windows whose first or last rows lie in the padding, in plain C: what those of Helium are
   tested against. Plans for other cores do not call them. */
#ifndef PADDED_ROWS_H
#define PADDED_ROWS_H

#include "cmrt/isa.h"

#include <string.h>

/* Each row with its padding. */
static inline void multiply_padded(const struct cm_cut_gemm *gemm, void (*multiply)(const struct cm_gemm *))
{
    enum { MOST_DEPTH = 1024, READ_PAST = 16 };
    _Alignas(int32_t) int8_t row[MOST_DEPTH + READ_PAST];
    const int32_t part = gemm->part, first = gemm->first, left = gemm->left;
    struct cm_gemm one = gemm->product;
    one.rows = 1;
    one.lhs = row;
    for (int32_t r = 0; r < gemm->product.rows; ++r, one.out += one.out_stride) {
        const int8_t *from = gemm->product.lhs + r * gemm->product.lhs_stride;
        memset(row, gemm->padding, sizeof row);
        for (int32_t at = first; at < one.depth; at += part, from += left)
            memcpy(row + at, from, (size_t)left);
        multiply(&one);
    }
}

#endif
