/* int8 matrix product with weights of four bits without SIMD. */
#include "cmrt/nibbles.h"
#include "unpack.h"

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8);
}

void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_general);
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_half_up);
}
