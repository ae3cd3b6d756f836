/* Rows of int16 as products without SIMD read them: see gemm_s16.c. */
#ifndef SHORT_ROWS_H
#define SHORT_ROWS_H

#include <stdint.h>

enum { OFFSET = 128 }; /* of weights */

/* What the sums of rows are too large by, then their numbers plus 32768: words of both rows, or one row. */
struct short_rows {
    uint32_t excess[2], words[];
};

/* Depths [at, at + depth) of two rows, from 0 on one part after the other. */
void cm_scalar_pack_shorts(struct short_rows *out, int32_t at, const int8_t *rows, int32_t stride,
                           int32_t depth);

#endif
