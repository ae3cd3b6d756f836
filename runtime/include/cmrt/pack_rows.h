/* Packing rows for products that read rows themselves: as they are. */
#ifndef CMRT_PACK_ROWS_H
#define CMRT_PACK_ROWS_H

#include "cmrt/isa.h"

/* They lie behind the workspace of any such product. */
static inline void cm_pack_rows(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                                int32_t bytes)
{
    int8_t *const rows = (int8_t *)gemm->workspace + (gemm->depth + 7) / 8 * 32;
    cm_isa_copy_blocks_s8(rows + at, gemm->depth, in, stride, bytes, CM_PACKED_ROWS);
    gemm->lhs = rows;
    gemm->lhs_stride = gemm->depth;
}

/* The product for windows of three rows: the depths are these less their last bytes, then the last bytes. */
static inline void cm_multiply_odd_rows(const struct cm_gemm *gemm, struct cm_odd_rows *windows,
                                        void (*multiply)(const struct cm_gemm *))
{
    const int32_t whole = windows->bytes - 1;
    struct cm_gemm four = *gemm;
    four.rows = CM_PACKED_ROWS;
    for (int32_t left = gemm->rows; left > 0; left -= CM_PACKED_ROWS) {
        for (int32_t i = 0; i < CM_WINDOW_ROWS; ++i) {
            const int8_t *const row = windows->rows[i];
            cm_pack_rows(&four, i * whole, row, windows->stride, whole);
            cm_pack_rows(&four, CM_WINDOW_ROWS * whole + i, row + whole, windows->stride, 1);
            windows->rows[i] += CM_PACKED_ROWS * windows->stride;
        }
        multiply(&four);
        four.out += CM_PACKED_ROWS * four.out_stride;
    }
}

#endif
