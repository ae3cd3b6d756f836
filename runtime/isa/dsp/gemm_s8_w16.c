/* int8 rows by int16 weights with the DSP extension: see four_by_two.h.

   Nothing is widened within the loop, for twice the flash. */
#include "four_by_two.h"

enum { FOUR_TURN = 8, PAIR_TURN = 4, FOUR_CODE = 112, PAIR_CODE = 40 };

/* clang-format off */
/* Two depths of four rows: r8 and r9 are weights, r10 and r11 rows. */
#if __ARM_ARCH_7EM__ && __ARM_FP & 8
/* A Cortex-M7, as no other core of Armv7E-M has double precision: it issues a load beside each product, of
   what is used two cycles later. So the first words of the next two depths are loaded here, even after the
   last ones: those are of the rescaling, and up to four bytes behind the rows. */
#define PRELOAD \
    "ldr r8, [r12]\n" \
    "ldr r9, [r12, #4]\n" \
    "ldr r10, [lr]\n"

#define MULTIPLY_TWO_DEPTHS \
    ADD_PRODUCT("r0", "r10", "r8") \
    "ldr r11, [lr, #4]\n" \
    ADD_PRODUCT("r4", "r10", "r9") \
    "ldr r10, [lr, #8]\n" \
    ADD_PRODUCT("r1", "r11", "r8") ADD_PRODUCT("r5", "r11", "r9") \
    "ldr r11, [lr, #12]\n" \
    ADD_PRODUCT("r2", "r10", "r8") ADD_PRODUCT("r3", "r11", "r8") \
    "ldr r8, [r12, #8]!\n" \
    ADD_PRODUCT("r6", "r10", "r9") \
    "ldr r10, [lr, #16]!\n" \
    ADD_PRODUCT("r7", "r11", "r9") \
    "ldr r9, [r12, #4]\n"
#else
#define PRELOAD ""

/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_TWO_DEPTHS \
    "ldr r9, [r12, #4]\n" \
    "ldr r8, [r12], #8\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    ADD_PRODUCT("r5", "r11", "r9") ADD_PRODUCT("r1", "r11", "r8") \
    ADD_PRODUCT("r4", "r10", "r9") ADD_PRODUCT("r0", "r10", "r8") \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    ADD_PRODUCT("r7", "r11", "r9") ADD_PRODUCT("r3", "r11", "r8") \
    ADD_PRODUCT("r6", "r10", "r9") ADD_PRODUCT("r2", "r10", "r8")
#endif

/* Four depths, in instructions of four bytes: 28 for four rows, 10 for two. */
#define MULTIPLY_FOUR MULTIPLY_TWO_DEPTHS MULTIPLY_TWO_DEPTHS

#define START_FOUR \
    "ldr lr, [sp]\n" \
    "ldr r8, [r12, #8]\n" \
    "ldr r9, [r12, #12]\n" \
    "ldr r4, [r12, #4]\n" \
    "ldr r0, [r12], #16\n" \
    START_SUMS("") \
    PRELOAD \
    MULTIPLY_TWO_DEPTHS

#define MULTIPLY_PAIR \
    "ldm.w r12!, {r4-r7}\n" \
    "ldm.w lr!, {r8-r11}\n" \
    ADD_PRODUCT("r0", "r8", "r4") ADD_PRODUCT("r2", "r8", "r5") \
    ADD_PRODUCT("r1", "r9", "r4") ADD_PRODUCT("r3", "r9", "r5") \
    ADD_PRODUCT("r0", "r10", "r6") ADD_PRODUCT("r2", "r10", "r7") \
    ADD_PRODUCT("r1", "r11", "r6") ADD_PRODUCT("r3", "r11", "r7")

#define FOUR_TIMES(text) text text text text

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
STRIP_FUNCTION(cm_dsp_multiply_four_w16, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR), OUTPUT_FOUR);
STRIP_FUNCTION(cm_dsp_multiply_four_half_up_w16, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR), OUTPUT_FOUR_HALF_UP);
STRIP_FUNCTION(cm_dsp_multiply_pair_w16, START_PAIR, FOUR_TIMES(MULTIPLY_PAIR), OUTPUT_PAIR);
STRIP_FUNCTION(cm_dsp_sum_pair_w16, START_PAIR, FOUR_TIMES(MULTIPLY_PAIR), STORE_SUMS);
/* clang-format on */

void cm_isa_gemm_s8_w16(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .four = cm_dsp_multiply_four_w16,
        .four_half_up = cm_dsp_multiply_four_half_up_w16,
        .pair = cm_dsp_multiply_pair_w16,
        .weight_bytes = 2,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_CODE,
        .pair_turn = PAIR_TURN,
        .pair_code = PAIR_CODE,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_w16_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .sum_pair = cm_dsp_sum_pair_w16,
        .weight_bytes = 2,
        .pair_turn = PAIR_TURN,
        .pair_code = PAIR_CODE,
    };
    multiply_rows(gemm, &loops);
}
