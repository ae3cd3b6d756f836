/* Few depths need no product of their own without Helium. */
#include "cmrt/isa.h"

void cm_isa_gemm_s8_shallow(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_shallow_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_shallow_dense(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_shallow_dense_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
