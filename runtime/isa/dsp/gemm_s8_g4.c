/* int8 matrix product with weights of four bits in groups with the DSP extension: unpacked, then multiplied
 * as bytes. */
#include "simd.h"
#include "unpack_groups.h"

/* 256 times a byte plus the one below it, both less 128. */
static inline uint32_t pair_numbers(uint32_t bytes)
{
    return (uint32_t)__usub16((uint16x2_t)bytes, (uint16x2_t)UINT32_C(0x80808080));
}

static void unpack_groups(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                          const uint8_t *in)
{
    unpack_pairs(sizes, out, factors, in, 1, pair_numbers);
}

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

/* Both bytes by themselves. */
static inline uint32_t pair_apart(uint32_t bytes)
{
    return bytes ^ UINT32_C(0x80808080);
}

static void unpack_apart(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                         const uint8_t *in)
{
    unpack_pairs(sizes, out, factors, in, 1, pair_apart);
}

void cm_isa_gemm_s8_g4_apart(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_apart, cm_isa_gemm_s8_apart);
}

void cm_isa_gemm_s8_g4_apart_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack_apart, cm_isa_gemm_s8_apart_general);
}
