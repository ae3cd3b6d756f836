/* One int8 row times a matrix of weights of four bits with the DSP extension: four columns at a time.

   A halfword is a depth of four columns, as in gemm_s8_w4.c. */
#include "cortex_m7.h"
#include "vector_product.h"

enum { NARROW_BYTES = 8 };

/* clang-format off */
#define WITHOUT_LOWEST(rest, weights) "bic " rest ", " weights ", #0x000f000f\n"

/* Takes 8 times the sum of the row off what each of three columns adds to the sums; the word before it is 128
   times. */
#define TAKE_EIGHTS_OFF \
    "ldr r4, [lr, #-4]\n" \
    "sub r2, r2, r4, asr #4\n" \
    "add r5, r4, r4, lsl #4\n" \
    "sub r0, r0, r4, asr #4\n" \
    "sub r1, r1, r5\n" \
    "sub r0, r0, r5\n"

/* Four depths: PAIRED_CODE, as 18 instructions of four bytes. No result is used by the instruction after. */
#if IS_CORTEX_M7
/* A Cortex-M7: see row_product.h. */
#define NARROW_PRELOAD \
    TAKE_EIGHTS_OFF \
    "ldr r4, [r12]\n" \
    "ldr r5, [r12, #4]\n" \
    "ldr r8, [lr]\n"

#define MULTIPLY_NARROW \
    "ldr.w r9, [lr, #4]\n" WITHOUT_LOWEST("r6", "r4") \
    ADD("r0", "r8", "r4") WITHOUT_LOWEST("r7", "r5") SECOND("r4") ADD("r1", "r8", "r6") \
    ADD("r0", "r9", "r5") WITHOUT_LOWEST("r10", "r4") SECOND("r5") ADD("r1", "r9", "r7") \
    ADD("r2", "r8", "r4") WITHOUT_LOWEST("r7", "r5") \
    ADD("r3", "r8", "r10") "ldr r4, [r12, #8]!\n" \
    ADD("r2", "r9", "r5") "ldr r8, [lr, #8]!\n" \
    ADD("r3", "r9", "r7") "ldr.w r5, [r12, #4]\n"
#else
#define NARROW_PRELOAD TAKE_EIGHTS_OFF

#define MULTIPLY_NARROW \
    "ldr.w r5, [r12, #4]\n" \
    "ldr.w r4, [r12], #8\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr.w r8, [lr], #8\n" \
    WITHOUT_LOWEST("r6", "r4") WITHOUT_LOWEST("r7", "r5") \
    ADD("r0", "r8", "r4") SECOND("r4") \
    ADD("r1", "r8", "r6") WITHOUT_LOWEST("r6", "r4") \
    ADD("r0", "r9", "r5") SECOND("r5") \
    ADD("r1", "r9", "r7") WITHOUT_LOWEST("r7", "r5") \
    ADD("r2", "r8", "r4") ADD("r3", "r8", "r6") ADD("r2", "r9", "r5") ADD("r3", "r9", "r7")
#endif

#define PART_NARROW \
    "sub r0, r0, r1\n" \
    "sub r1, r1, r2, lsl #8\n" \
    "sub r2, r2, r3\n" \
    "asr r1, r1, #4\n" \
    "asr r3, r3, #4\n"

STRIP_FUNCTION(cm_dsp_multiply_vector_w4, NARROW_PRELOAD, PAIRED_TURNS(MULTIPLY_NARROW), PART_NARROW OUTPUT_COLUMNS);
STRIP_FUNCTION(cm_dsp_sum_vector_w4, NARROW_PRELOAD, PAIRED_TURNS(MULTIPLY_NARROW), PART_NARROW STORE_SUMS("32"));
/* clang-format on */

void cm_isa_gemv_s8_w4(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_multiply_vector_w4, NARROW_BYTES, .paired = true};
    multiply_row(gemm, &loop);
}

void cm_isa_gemv_s8_w4_general(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_sum_vector_w4, NARROW_BYTES, .paired = true};
    multiply_general(gemm, &loop);
}
