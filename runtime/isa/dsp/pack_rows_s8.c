/* Rows are paired, as their product does with those that are not packed: see four_by_two.h. */
#include "four_by_two.h"

void cm_isa_pack_rows_s8(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes)
{
    gemm->lhs = NULL;
    cm_dsp_pair_four((uint32_t *)gemm->workspace + at, in, stride, bytes / DEPTHS);
}

void cm_isa_pack_rows_s8_w16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                             int32_t bytes)
{
    gemm->lhs = NULL;
    cm_dsp_pair_four_w16((uint32_t *)gemm->workspace + at, in, stride, bytes / DEPTHS);
}
