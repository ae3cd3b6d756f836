/* One int8 row times a matrix of weights of four bits in groups with the DSP extension. */
#include "unpack_groups.h"

void cm_isa_gemv_s8_g4(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemv_s8);
}

void cm_isa_gemv_s8_g4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemv_s8_general);
}
