/* One int8 row times a matrix of weights of four bits without SIMD. */
#include "narrow_rows.h"

NIBBLES_OF_A_ROW(cm_scalar_multiply_nibbles_by_row);

void cm_isa_gemv_s8_w4(const struct cm_gemm *gemm)
{
    const uint32_t sum = shift_row(gemm->workspace, gemm->lhs, gemm->depth);
    const struct narrow_rows rows = {cm_scalar_multiply_nibbles_by_row, 1, {OFFSET * sum, 0}};
    multiply_narrow(gemm, &rows);
}

void cm_isa_gemv_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_isa_gemv_s8_w4(gemm);
}
