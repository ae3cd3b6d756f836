/* int16 matrix product with weights of four bits with the DSP extension: unpacked, then multiplied as bytes.
 */
#include "cmrt/nibbles.h"

/* The second columns of pairs are signed. */
static void unpack(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors, const uint8_t *in)
{
    (void)factors;
    cm_unpack_words(sizes, out, in, UINT32_C(0x80008000));
}

void cm_isa_gemm_s16_w4(const struct cm_gemm *gemm)
{
    cm_multiply_short_nibbles(gemm, unpack, cm_isa_gemm_s16);
}
