/* Rows side by side need no product of their own without Helium. */
#include "cmrt/isa.h"

void cm_isa_gemm_s8_dense_64_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_dense_128_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
