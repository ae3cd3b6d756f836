/* One int8 row times a matrix of int16 weights with the DSP extension: four columns at a time. */
#include "cortex_m7.h"
#include "vector_product.h"

enum { WIDE_CODE = 72 };

/* clang-format off */
/* Four depths: 18 instructions of four bytes. Weights are depths 0 and 2 of each column, then 1 and 3. */
#if IS_CORTEX_M7
/* A Cortex-M7: see gemm_s8_w16.c. Up to twelve bytes behind the weights and four behind the row are read. */
#define PRELOAD \
    "ldr r4, [r12]\n" \
    "ldr r5, [r12, #4]\n" \
    "ldr r6, [r12, #8]\n" \
    "ldr r8, [lr]\n"

#define MULTIPLY_WIDE \
    ADD("r0", "r8", "r4") \
    "ldr r7, [r12, #12]\n" \
    "ldr r9, [lr, #4]\n" \
    ADD("r1", "r8", "r5") \
    "ldr r4, [r12, #16]\n" \
    ADD("r2", "r8", "r6") \
    "ldr r5, [r12, #20]\n" \
    ADD("r3", "r8", "r7") \
    "ldr r6, [r12, #24]\n" \
    "ldr r8, [lr, #8]!\n" \
    ADD("r0", "r9", "r4") \
    "ldr r7, [r12, #28]\n" \
    ADD("r1", "r9", "r5") \
    "ldr r4, [r12, #32]!\n" \
    ADD("r2", "r9", "r6") \
    "ldr r5, [r12, #4]\n" \
    ADD("r3", "r9", "r7") \
    "ldr r6, [r12, #8]\n"
#else
#define PRELOAD ""

/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_WIDE \
    "ldr r9, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    "ldr r5, [r12, #4]\n" \
    "ldr r6, [r12, #8]\n" \
    "ldr r7, [r12, #12]\n" \
    "ldr r10, [r12, #16]\n" \
    "ldr r4, [r12], #32\n" \
    ADD("r1", "r8", "r5") ADD("r2", "r8", "r6") ADD("r3", "r8", "r7") \
    ADD("r0", "r8", "r4") ADD("r0", "r9", "r10") \
    "ldr r5, [r12, #-12]\n" \
    "ldr r6, [r12, #-8]\n" \
    "ldr r7, [r12, #-4]\n" \
    ADD("r1", "r9", "r5") ADD("r2", "r9", "r6") ADD("r3", "r9", "r7")
#endif

STRIP_FUNCTION(cm_dsp_multiply_vector_w16, PRELOAD, TURN_OF_FOUR(MULTIPLY_WIDE), OUTPUT_COLUMNS);
STRIP_FUNCTION(cm_dsp_sum_vector_w16, PRELOAD, TURN_OF_FOUR(MULTIPLY_WIDE), STORE_SUMS("32"));
/* clang-format on */

void cm_isa_gemv_s8_w16(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_multiply_vector_w16, .weight_bytes = 2 * PAIRED_BYTES,
                                     .code = WIDE_CODE};
    multiply_row(gemm, &loop);
}

void cm_isa_gemv_s8_w16_general(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_sum_vector_w16, .weight_bytes = 2 * PAIRED_BYTES,
                                     .code = WIDE_CODE};
    multiply_general(gemm, &loop);
}
