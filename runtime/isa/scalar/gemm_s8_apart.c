/* Without the DSP extension, sums of any size need no product of their own. */
#include "cmrt/isa.h"

void cm_isa_gemm_s8_apart(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_apart_general(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_general(gemm);
}
