/* int8 matrix product with the DSP extension: see four_by_two.h.

   Weights stay int8, as they would otherwise take twice the flash: gemm_s8_w16.c. One word of them holds two
   depths of both columns, paired as rows are: 256 times the second one plus 128 plus the first one. Sums of
   rows make good for the 128, and what both pairs give is parted column by column, then row by row. */
#include "four_by_two.h"

/* clang-format off */
#define WIDEN_WEIGHTS(single, paired) "sxtb16 " single ", " paired ", ror #8\n"

/* Two depths of four rows: r8 and r9 are weights of both columns and of the second one, r10 and r11 rows, two each. */
#if defined(__ARM_ARCH_7EM__) && defined(__ARM_FP) && (__ARM_FP & 8)
/* A Cortex-M7, as no other core of Armv7E-M has double precision: it issues a load or, first, SXTB16 beside each
   product, and products take what was loaded two cycles before. So the words of the next two depths are loaded
   here, even after the last ones: those are of the rescaling, and up to eight bytes behind the rows. Here r11 is
   the second column's weights, r9 the other rows. */
#define PRELOAD \
    "ldr r10, [lr]\n" \
    "ldr r8, [r12]\n" \
    "ldr r9, [lr, #4]\n"

#define MULTIPLY_TWO_DEPTHS \
    WIDEN_WEIGHTS("r11", "r8") \
    ADD_PRODUCT("r0", "r10", "r8") ADD_PRODUCT("r4", "r10", "r11") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r2", "r9", "r8") ADD_PRODUCT("r6", "r9", "r11") \
    "sxtb16 r9, r9, ror #8\n" \
    ADD_PRODUCT("r1", "r10", "r8") ADD_PRODUCT("r5", "r10", "r11") \
    "ldr r10, [lr, #8]!\n" \
    ADD_PRODUCT("r3", "r9", "r8") \
    "ldr r8, [r12, #4]!\n" \
    ADD_PRODUCT("r7", "r9", "r11") \
    "ldr r9, [lr, #4]\n"

/* Of three rows: r6 and r7 are weights, r8 to r10 rows. */
#define PRELOAD_THREE \
    "ldr r6, [r12]\n" \
    "ldr r8, [lr]\n" \
    "ldr r9, [lr, #4]\n"

#define MULTIPLY_TWO_DEPTHS_OF_THREE \
    WIDEN_WEIGHTS("r7", "r6") \
    ADD_PRODUCT("r0", "r8", "r6") ADD_PRODUCT("r3", "r8", "r7") \
    "ldr r10, [lr, #8]\n" \
    ADD_PRODUCT("r1", "r9", "r6") \
    "ldr r8, [lr, #12]!\n" \
    ADD_PRODUCT("r4", "r9", "r7") \
    "ldr r9, [lr, #4]\n" \
    ADD_PRODUCT("r2", "r10", "r6") \
    "ldr r6, [r12, #4]!\n" \
    ADD_PRODUCT("r5", "r10", "r7")
#else
#define PRELOAD ""
#define PRELOAD_THREE ""

/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_TWO_DEPTHS \
    "ldr r8, [r12], #4\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    WIDEN_WEIGHTS("r9", "r8") \
    ADD_PRODUCT("r2", "r11", "r8") ADD_PRODUCT("r0", "r10", "r8") ADD_PRODUCT("r6", "r11", "r9") \
    "sxtb16 r11, r11, ror #8\n" \
    ADD_PRODUCT("r4", "r10", "r9") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r7", "r11", "r9") ADD_PRODUCT("r3", "r11", "r8") \
    ADD_PRODUCT("r5", "r10", "r9") ADD_PRODUCT("r1", "r10", "r8")

#define MULTIPLY_TWO_DEPTHS_OF_THREE \
    "ldr r6, [r12], #4\n" \
    "ldr r9, [lr, #4]\n" \
    "ldr r10, [lr, #8]\n" \
    "ldr r8, [lr], #12\n" \
    WIDEN_WEIGHTS("r7", "r6") \
    ADD_PRODUCT("r1", "r9", "r6") ADD_PRODUCT("r4", "r9", "r7") \
    ADD_PRODUCT("r2", "r10", "r6") ADD_PRODUCT("r5", "r10", "r7") \
    ADD_PRODUCT("r0", "r8", "r6") ADD_PRODUCT("r3", "r8", "r7")
#endif

/* Four depths, in instructions of four bytes: 28 for four rows, 22 for three. */
#define MULTIPLY_FOUR MULTIPLY_TWO_DEPTHS MULTIPLY_TWO_DEPTHS
#define MULTIPLY_THREE MULTIPLY_TWO_DEPTHS_OF_THREE MULTIPLY_TWO_DEPTHS_OF_THREE
#define FOUR_TIMES(text) text text text text

/* Sums begin with a part that depends on the row plus one that depends on the columns. */
#define START_FOUR \
    "ldr r7, [r12, #4]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr lr, [sp]\n" \
    "ldr r8, [r12, #16]\n" \
    "ldr r5, [r12, #12]\n" \
    "ldr r6, [r12], #20\n" \
    "ldr r10, [lr, #16]\n" \
    "ldr r1, [lr, #4]\n" \
    "ldr r2, [lr, #8]\n" \
    "ldr r3, [lr, #12]\n" \
    "ldr r11, [lr, #20]\n" \
    "ldr r0, [lr], #24\n" \
    WIDEN_WEIGHTS("r9", "r8") \
    "add r0, r6\n" \
    "add r2, r6\n" \
    START_SUMS("r2", "r3", "add r3, r7\n", "add r1, r7\n") \
    PRELOAD \
    MULTIPLY_TWO_DEPTHS

#define START_THREE \
    "ldr lr, [sp]\n" \
    "ldr r1, [lr, #4]\n" \
    "ldr r2, [lr, #8]\n" \
    "ldr r0, [lr], #16\n" \
    "ldr r6, [r12, #4]\n" \
    "ldr r3, [r12, #12]\n" \
    "add r12, #16\n" \
    "add r0, r6\n" \
    "add r1, r6\n" \
    "add r2, r6\n" \
    "mov r4, r3\n" \
    "mov r5, r3\n" \
    PRELOAD_THREE

/* Sums of rows, of their numbers plus 128. */
#define SUM(sum) "usada8 " sum ", r10, r9, " sum "\n"
#define OTHER "eor lr, r11, #0x80808080\n"
#define SUM_OTHER(sum) "usada8 " sum ", lr, r9, " sum "\n"

/* Minus COLUMN_TERM times the sums, for pairs of rows and for their second rows. */
#define ADD_TO_STARTS \
    "ldr r12, [sp, #36]\n" \
    "add r5, r5, r6, lsl #8\n" \
    "add r7, r7, r8, lsl #8\n" \
    "ldm r12, {r0-r3}\n" \
    "sub r5, r0, r5, lsl #7\n" \
    "sub r6, r1, r6, lsl #7\n" \
    "sub r7, r2, r7, lsl #7\n" \
    "sub r8, r3, r8, lsl #7\n" \
    "stm r12, {r5-r8}\n"

#define PART_FOUR PART("r0", "r4") PART("r1", "r5") PART("r2", "r6") PART("r3", "r7")
#define PART_THREE PART("r0", "r3") PART("r1", "r4") PART("r2", "r5")

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
PAIR_FUNCTION(cm_dsp_pair_four, SUM, OTHER, SUM_OTHER, ADD_TO_STARTS);
STRIP_FUNCTION(cm_dsp_multiply_four, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR), OUTPUT_FOUR(PART_FOUR));
STRIP_FUNCTION(cm_dsp_multiply_three, START_THREE, FOUR_TIMES(MULTIPLY_THREE), OUTPUT_THREE(PART_THREE));
/* clang-format on */

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .pair = cm_dsp_pair_four,
        .four = cm_dsp_multiply_four,
        .three = cm_dsp_multiply_three,
        .weight_bytes = 8,
        .terms = ROWS,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_CODE,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .three = cm_dsp_multiply_three,
        .weight_bytes = 8,
        .terms = ROWS,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE,
    };
    multiply_general(gemm, &loops);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
