/* One int8 row times a matrix in plain C, packed as for gemm_s8. */
#include "cmrt/isa.h"

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemv_s8_general(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_general(gemm);
}
