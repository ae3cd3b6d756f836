/* int8 matrix product with the DSP extension: see four_by_two.h.

   Weights stay int8, as they would otherwise take twice the flash: gemm_s8_w16.c. One word of them holds two
   depths of both columns, each pair a number of 16 bits: 256 times the first one plus the second one.
   Products of both less those of the second one are 256 times those of the first one, exact if these are
   smaller than 2^23. Where the first one is -128 and the second one negative, all first ones change their
   sign, and what sums begin with sees to it that so do their bits:
   compiler/cmcompiler/ops/support/weight_orders.py. */
#include "row_alone.h"

/* clang-format off */
/* r8 and r9 are weights of both columns and of the second one. */
#define WIDEN_WEIGHTS(single, paired) "sxtb16 " single ", " paired "\n"
#define IN_TURN(single, paired) paired single

#define START_FOUR \
    "ldr r5, [r12, #12]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr lr, [sp]\n" \
    "ldr r1, [r12, #4]\n" \
    "ldr r8, [r12, #16]\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    "ldr r0, [r12], #20\n" \
    START_SUMS(WIDEN_WEIGHTS("r9", "r8")) \
    PRELOAD \
    MULTIPLY_TWO_DEPTHS

/* 256 times the first column's sums, or of those with all bits flipped, plus 1 then; and these alone, where r8 is
   all of that 1. */
#define FIRST(both, second) "sub.w " both ", " second "\n"
#define TELL(sum) "sbfx r8, " sum ", #0, #1\n"
#define ALONE(sum) "eor " sum ", r8, " sum ", asr #8\n"

#define PART_FOUR \
    FIRST("r0", "r4") FIRST("r1", "r5") FIRST("r3", "r7") PART("r0", "r1") FIRST("r2", "r6") PART("r2", "r3") \
    TELL("r1") ALONE("r2") ALONE("r1") ALONE("r3") ALONE("r0")

#define PART_THREE \
    FIRST("r0", "r3") FIRST("r1", "r4") FIRST("r2", "r5") TELL("r0") ALONE("r0") ALONE("r1") ALONE("r2")

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
PAIR_FUNCTION(cm_dsp_pair_four);
STRIP_FUNCTION(cm_dsp_multiply_four, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR), OUTPUT_FOUR(PART_FOUR));
STRIP_FUNCTION(cm_dsp_multiply_three, START_THREE, FOUR_TIMES(MULTIPLY_THREE), OUTPUT_THREE(PART_THREE));
STRIP_FUNCTION(cm_dsp_multiply_one, START_ALONE, MULTIPLY_ALONE MULTIPLY_ALONE, OUTPUT_ALONE(FIRST("r0", "r3") TELL("r0") ALONE("r0")));
/* clang-format on */

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .pair = cm_dsp_pair_four,
        .four = cm_dsp_multiply_four,
        .three = cm_dsp_multiply_three,
        .one = cm_dsp_multiply_one,
        .weight_bytes = 8,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_CODE,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE,
        .one_code = ONE_CODE,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .three = cm_dsp_multiply_three,
        .weight_bytes = 8,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE,
    };
    multiply_general(gemm, &loops);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
