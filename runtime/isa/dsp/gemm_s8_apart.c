/* int8 matrix product with the DSP extension where sums of columns may exceed 24 bits: see gemm_s8.c.

   A word of weights holds bytes of both columns, each widened by itself, for an instruction more in two
   depths.
 */
#include "row_alone.h"

/* clang-format off */
#define WIDEN_WEIGHTS(second, both) \
    "sxtb16 " second ", " both "\n" \
    "sxtb16 " both ", " both ", ror #8\n"
#define IN_TURN(second, first) second first

/* Bytes of code for four depths: 30 instructions for four rows, 24 for three. */

#define START_FOUR \
    "ldr r8, [r12, #16]\n" \
    "ldr r5, [r12, #12]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr lr, [sp]\n" \
    "ldr r1, [r12, #4]\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    "ldr r0, [r12], #20\n" \
    WIDEN_WEIGHTS("r9", "r8") \
    START_SUMS("") \
    PRELOAD \
    MULTIPLY_TWO_DEPTHS

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
STRIP_FUNCTION(cm_dsp_multiply_four_apart, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR), OUTPUT_FOUR(PART_ROWS));
STRIP_FUNCTION(cm_dsp_multiply_three_apart, START_THREE, FOUR_TIMES(MULTIPLY_THREE), OUTPUT_THREE(""));
STRIP_FUNCTION(cm_dsp_multiply_one_apart, START_ALONE, MULTIPLY_ALONE MULTIPLY_ALONE, OUTPUT_ALONE(""));
/* clang-format on */

void cm_isa_gemm_s8_apart(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .pair = cm_dsp_pair_four,
        .four = cm_dsp_multiply_four_apart,
        .three = cm_dsp_multiply_three_apart,
        .one = cm_dsp_multiply_one_apart,
        .weight_bytes = 8,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_APART_CODE,
        .three_turn = THREE_TURN,
        .three_code = THREE_APART_CODE,
        .one_code = ONE_APART_CODE,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_apart_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .three = cm_dsp_multiply_three_apart,
        .weight_bytes = 8,
        .three_turn = THREE_TURN,
        .three_code = THREE_APART_CODE,
    };
    multiply_general(gemm, &loops);
}
