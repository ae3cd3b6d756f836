/* One int8 row times a matrix of weights of four bits in groups with the DSP extension. */
#include "unpack_groups.h"

/* Columns in even bytes stay plus 128, as pairs are made of them. */
static inline uint32_t pair_raised(uint32_t bytes)
{
    return bytes ^ UINT32_C(0x80008000);
}

static void unpack_groups(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                          const uint8_t *in)
{
    unpack_pairs(sizes, out, factors, in, 0, pair_raised);
}

void cm_isa_gemv_s8_g4(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemv_s8);
}

void cm_isa_gemv_s8_g4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_groups, cm_isa_gemv_s8_general);
}
