/* int8 matrix product with weights of four bits in groups without SIMD: unpacked, then multiplied as bytes.
 */
#include "unpack_groups.h"

void cm_isa_gemm_s8_g4(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemm_s8);
}

void cm_isa_gemm_s8_g4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemm_s8_general);
}

void cm_isa_gemm_s8_g4_half_up(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemm_s8_half_up);
}

void cm_isa_gemm_s8_g4_apart(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_g4(gemm);
}

void cm_isa_gemm_s8_g4_apart_general(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_g4_general(gemm);
}
