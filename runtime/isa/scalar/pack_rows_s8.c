#include "cmrt/pack_rows.h"

void cm_isa_pack_rows_s8(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes)
{
    cm_pack_rows(gemm, at, in, stride, bytes);
}

void cm_isa_pack_rows_s8_w16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                             int32_t bytes)
{
    cm_pack_rows(gemm, at, in, stride, bytes);
}
