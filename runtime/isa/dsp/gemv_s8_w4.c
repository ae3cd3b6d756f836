/* One int8 row times a matrix of weights of four bits with the DSP extension: four columns at a time.

   A byte is a depth of two columns, as in gemm_s8_w4.c; words of both pairs of columns alternate. */
#include "vector_product.h"

enum { NARROW_BYTES = 8, NARROW_CODE = 80 };

/* clang-format off */
/* Takes 8 times the sum of the row off; the word before it is 128 times. */
#define TAKE_EIGHTS_OFF "ldr r4, [lr, #-4]\n" "sub r0, r0, r4, asr #4\n" "sub r2, r2, r4, asr #4\n"

#define SIXTEENS(second, both) "bic " second ", " both ", #0x000f000f\n"

/* Four depths: 20 instructions of four bytes. No result is used by the instruction after. */
#define MULTIPLY_NARROW \
    "ldr.w r5, [r12, #4]\n" \
    "ldr.w r4, [r12], #8\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr.w r8, [lr], #8\n" \
    "sxtb16 r7, r5\n" "sxtb16 r6, r4\n" \
    SIXTEENS("r10", "r7") \
    ADD("r2", "r8", "r7") \
    SIXTEENS("r7", "r6") \
    ADD("r0", "r8", "r6") \
    "sxtb16 r5, r5, ror #8\n" \
    ADD("r3", "r8", "r10") \
    "sxtb16 r4, r4, ror #8\n" \
    ADD("r1", "r8", "r7") \
    SIXTEENS("r10", "r5") \
    ADD("r2", "r9", "r5") \
    SIXTEENS("r7", "r4") \
    ADD("r0", "r9", "r4") ADD("r3", "r9", "r10") ADD("r1", "r9", "r7")

#define PART_NARROW \
    "sub r0, r0, r1\n" "sub r2, r2, r3\n" "asr r1, r1, #4\n" "asr r3, r3, #4\n"

STRIP_FUNCTION(cm_dsp_multiply_vector_w4, TAKE_EIGHTS_OFF, TURN_OF_FOUR(MULTIPLY_NARROW), PART_NARROW OUTPUT_COLUMNS);
STRIP_FUNCTION(cm_dsp_sum_vector_w4, TAKE_EIGHTS_OFF, TURN_OF_FOUR(MULTIPLY_NARROW), PART_NARROW STORE_SUMS("32"));
/* clang-format on */

void cm_isa_gemv_s8_w4(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_multiply_vector_w4, NARROW_BYTES, NARROW_CODE, .paired = true};
    multiply_row(gemm, &loop);
}

void cm_isa_gemv_s8_w4_general(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_sum_vector_w4, NARROW_BYTES, NARROW_CODE, .paired = true};
    multiply_general(gemm, &loop);
}
