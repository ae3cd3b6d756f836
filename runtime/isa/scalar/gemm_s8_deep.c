/* Many depths need no product of their own without Helium. */
#include "cmrt/isa.h"

void cm_isa_gemm_s8_deep(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_deep_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
