/* int16 matrix product with weights of four bits with MVE: unpacked, then multiplied as bytes. */
#include "unpack.h"

void cm_isa_gemm_s16_w4(const struct cm_gemm *gemm)
{
    cm_multiply_short_nibbles(gemm, unpack, cm_isa_gemm_s16);
}
