/* int8 matrix product with the DSP extension: see four_by_two.h.

   Weights are widened at each use, as they would otherwise take twice the flash: gemm_s8_w16.c. One word of
   them holds two depths of both columns. */
#include "four_by_two.h"

enum { FOUR_TURN = 4, PAIR_TURN = 2, FOUR_CODE = 120, PAIR_CODE = 56 };

/* clang-format off */
#define LOAD_ROWS \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n"

#define LOAD_WEIGHTS "ldr r8, [r12], #4\n"

#define WIDEN_WEIGHTS \
    "sxtb16 r9, r8, ror #8\n" \
    "sxtb16 r8, r8\n"

/* Two depths of four rows. */
#if __ARM_ARCH_7EM__ && __ARM_FP & 8
/* A Cortex-M7, as no other core of Armv7E-M has double precision: it issues a load beside each product. */
#define MULTIPLY_TWO_DEPTHS \
    LOAD_WEIGHTS \
    "ldr r11, [lr, #4]\n" \
    WIDEN_WEIGHTS \
    "ldr r10, [lr], #8\n" \
    ADD_PRODUCT("r5", "r11", "r9") ADD_PRODUCT("r1", "r11", "r8") \
    "ldr r11, [lr, #4]\n" \
    ADD_PRODUCT("r4", "r10", "r9") ADD_PRODUCT("r0", "r10", "r8") \
    "ldr r10, [lr], #8\n" \
    ADD_PRODUCT("r7", "r11", "r9") ADD_PRODUCT("r3", "r11", "r8") \
    ADD_PRODUCT("r6", "r10", "r9") ADD_PRODUCT("r2", "r10", "r8")
#else
/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_TWO_DEPTHS \
    LOAD_WEIGHTS LOAD_ROWS \
    WIDEN_WEIGHTS \
    ADD_PRODUCT("r5", "r11", "r9") ADD_PRODUCT("r1", "r11", "r8") \
    ADD_PRODUCT("r4", "r10", "r9") ADD_PRODUCT("r0", "r10", "r8") \
    LOAD_ROWS \
    ADD_PRODUCT("r7", "r11", "r9") ADD_PRODUCT("r3", "r11", "r8") \
    ADD_PRODUCT("r6", "r10", "r9") ADD_PRODUCT("r2", "r10", "r8")
#endif

/* Four depths, in instructions of four bytes: 30 for four rows, 14 for two. */
#define MULTIPLY_FOUR MULTIPLY_TWO_DEPTHS MULTIPLY_TWO_DEPTHS

#define START_FOUR \
    "ldr lr, [sp]\n" \
    "ldr r8, [r12, #8]\n" \
    "ldr r4, [r12, #4]\n" \
    "ldr r0, [r12], #12\n" \
    START_SUMS(WIDEN_WEIGHTS) \
    MULTIPLY_TWO_DEPTHS

#define MULTIPLY_PAIR \
    "ldrd r4, r6, [r12], #8\n" \
    "ldm lr!, {r8-r11}\n" \
    "sxtb16 r5, r4, ror #8\n" \
    "sxtb16 r4, r4\n" \
    "sxtb16 r7, r6, ror #8\n" \
    "sxtb16 r6, r6\n" \
    ADD_PRODUCT("r2", "r8", "r5") ADD_PRODUCT("r0", "r8", "r4") \
    ADD_PRODUCT("r3", "r9", "r5") ADD_PRODUCT("r1", "r9", "r4") \
    ADD_PRODUCT("r2", "r10", "r7") ADD_PRODUCT("r0", "r10", "r6") \
    ADD_PRODUCT("r3", "r11", "r7") ADD_PRODUCT("r1", "r11", "r6")

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
STRIP_FUNCTION(cm_dsp_multiply_four, START_FOUR, MULTIPLY_FOUR MULTIPLY_FOUR MULTIPLY_FOUR MULTIPLY_FOUR, OUTPUT_FOUR);
STRIP_FUNCTION(cm_dsp_multiply_four_half_up, START_FOUR, MULTIPLY_FOUR MULTIPLY_FOUR MULTIPLY_FOUR MULTIPLY_FOUR, OUTPUT_FOUR_HALF_UP);
STRIP_FUNCTION(cm_dsp_multiply_pair, START_PAIR, MULTIPLY_PAIR MULTIPLY_PAIR, OUTPUT_PAIR);
STRIP_FUNCTION(cm_dsp_sum_pair, START_PAIR, MULTIPLY_PAIR MULTIPLY_PAIR, STORE_SUMS);
/* clang-format on */

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .four = cm_dsp_multiply_four,
        .four_half_up = cm_dsp_multiply_four_half_up,
        .pair = cm_dsp_multiply_pair,
        .weight_bytes = 1,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_CODE,
        .pair_turn = PAIR_TURN,
        .pair_code = PAIR_CODE,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .sum_pair = cm_dsp_sum_pair,
        .weight_bytes = 1,
        .pair_turn = PAIR_TURN,
        .pair_code = PAIR_CODE,
    };
    multiply_rows(gemm, &loops);
}
