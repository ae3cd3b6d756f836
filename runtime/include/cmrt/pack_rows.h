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

#endif
