/* Rows that are not widened need no portions: those of any length are the same. */
#include "cmrt/isa.h"

void cm_isa_gemv_s8_long(const struct cm_gemm *gemm)
{
    cm_isa_gemv_s8(gemm);
}

void cm_isa_gemv_s8_long_general(const struct cm_gemm *gemm)
{
    cm_isa_gemv_s8_general(gemm);
}
