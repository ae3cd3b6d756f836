/* int8 matrix product with weights of four bits with MVE for four or eight chunks of depths: those of a pair
   of rows side by side. What is before and behind the pairs of a block is in gemm_s8_w4.c. */
#include "narrow_product.h"

/* clang-format off */
/* A chunk but the first. Weights are addressed from the second one. */
#define MULTIPLY_AT(SPARE, AT, NEXT_ROW, NEXT_COLUMN) \
    "vldrb.8 q1, [r5], #16\n" \
    MORE " r0, q0, q2\n" \
    "vrshr.s8 q3, q2, #4\n" \
    MORE " r8, q1, q2\n" \
    "vldrw.32 q2, [r1, #" AT "+16]\n" \
    MORE " r2, q0, q3\n" \
    SPARE \
    MORE " r10, q1, q3\n" \
    "vrshr.s8 q3, q2, #4\n" \
    MORE " r4, q0, q2\n" \
    MORE " r12, q1, q2\n" \
    NEXT_COLUMN \
    MORE " r6, q0, q3\n" \
    NEXT_ROW \
    MORE " lr, q1, q3\n"
#define MIDDLE(AT, NEXT) MULTIPLY_AT("", AT, NEXT_ROW, "vldrw.32 q2, [r1, #" NEXT "]\n")

/* `any` is the loop of any depths. */
#define FIXED_LOOP(name, any, MIDDLES, LAST, LOAD_ONE, ROUND) \
    product_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "adr.w r2, 2f\n" \
          "b.w " #any " + 4\n" /* behind its own ADR */ \
          \
          ".p2align 2\n" \
          "1:\n" \
          FINISH_AND_START_AT(PART(LOAD_ONE), ROUND, "-32", "vldrw.32 q2, [r1]\n") \
          "2:\n" \
          MIDDLES \
          MULTIPLY_AT("subs r11, #0x10000\n", LAST, PART_THIRD, PART_FIRST) \
          "bcc.w 3f\n" \
          "le 1b\n" \
          "3:\n" \
          NEXT_PAIR \
          "b.w " #any "_end\n" \
          CM_ASM_END)

#define MIDDLES_OF_64 MIDDLE("0", "32") MIDDLE("32", "64")
#define MIDDLES_OF_128 \
    MIDDLES_OF_64 \
    MIDDLE("64", "96") MIDDLE("96", "128") MIDDLE("128", "160") MIDDLE("160", "192")

FIXED_LOOP(cm_mve_narrow_64_half_up, cm_mve_narrow_half_up, MIDDLES_OF_64, "64", "", AS_IT_IS);
FIXED_LOOP(cm_mve_narrow_128_half_up, cm_mve_narrow_half_up, MIDDLES_OF_128, "192", "", AS_IT_IS);
FIXED_LOOP(cm_mve_narrow_64_right, cm_mve_narrow_right, MIDDLES_OF_64, "64", LOAD_ONE, AWAY_FROM_ZERO);
FIXED_LOOP(cm_mve_narrow_128_right, cm_mve_narrow_right, MIDDLES_OF_128, "192", LOAD_ONE, AWAY_FROM_ZERO);
/* clang-format on */

void cm_isa_gemm_s8_w4_64(const struct cm_gemm *gemm)
{
    cm_mve_multiply_narrow_parts(gemm, cm_mve_narrow_64_right);
}

void cm_isa_gemm_s8_w4_64_half_up(const struct cm_gemm *gemm)
{
    cm_mve_multiply_narrow_parts(gemm, cm_mve_narrow_64_half_up);
}

void cm_isa_gemm_s8_w4_128(const struct cm_gemm *gemm)
{
    cm_mve_multiply_narrow_parts(gemm, cm_mve_narrow_128_right);
}

void cm_isa_gemm_s8_w4_128_half_up(const struct cm_gemm *gemm)
{
    cm_mve_multiply_narrow_parts(gemm, cm_mve_narrow_128_half_up);
}
