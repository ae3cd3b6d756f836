/* Windows of three rows as they are. */
#include "cmrt/pack_rows.h"

void cm_isa_gemm_s8_odd(const struct cm_gemm *gemm, struct cm_odd_rows *windows)
{
    cm_multiply_odd_rows(gemm, windows, cm_isa_gemm_s8);
}

void cm_isa_gemm_s8_odd_apart(const struct cm_gemm *gemm, struct cm_odd_rows *windows)
{
    cm_multiply_odd_rows(gemm, windows, cm_isa_gemm_s8_apart);
}

void cm_isa_gemm_s8_odd_w16(const struct cm_gemm *gemm, struct cm_odd_rows *windows)
{
    cm_multiply_odd_rows(gemm, windows, cm_isa_gemm_s8_w16);
}
