/* 64 and 128 depths need no product of their own without Helium. */
#include "cmrt/isa.h"

void cm_isa_gemm_s8_w4_64(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}

void cm_isa_gemm_s8_w4_64_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}

void cm_isa_gemm_s8_w4_128(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}

void cm_isa_gemm_s8_w4_128_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}
