/* One int8 row times a matrix of weights of four bits without SIMD. */
#include "cmrt/nibbles.h"
#include "unpack.h"

void cm_isa_gemv_s8_w4(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemv_s8);
}

void cm_isa_gemv_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemv_s8_general);
}
