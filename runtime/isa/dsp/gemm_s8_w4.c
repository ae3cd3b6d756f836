/* int8 rows by weights of four bits with the DSP extension: see four_by_two.h.

   A byte is a depth of both columns: 16 * second + 8 + first. SXTB16 widens two of them, and without the
   lower four bits they are 16 * second. Sums of rows make good for the 8; the second column's are shifted
   right by four once they are parted. */
#define COLUMN_TERM 8U
#include "four_by_two.h"

enum { FOUR_CODE_W4 = 120, THREE_CODE_W4 = 96 };

/* clang-format off */
/* Two depths of four rows: r9 and r8 are weights of both columns and of the second one, r10 and r11 rows, two each. */
#define SECOND_OF_TWO "bic r8, r9, #0x000f000f\n"
#define REST_OF_TWO \
    ADD_PRODUCT("r6", "r11", "r8") \
    "sxtb16 r11, r11, ror #8\n" \
    ADD_PRODUCT("r4", "r10", "r8") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r7", "r11", "r8") ADD_PRODUCT("r3", "r11", "r9") \
    ADD_PRODUCT("r5", "r10", "r8") ADD_PRODUCT("r1", "r10", "r9")

#if __ARM_ARCH >= 8 || (defined(__ARM_FP) && (__ARM_FP & 8))
/* A Cortex-M33 or M7 has results two cycles later. */
#define MULTIPLY_TWO_DEPTHS(LOAD, ROTATION) \
    LOAD \
    "ldr r11, [lr, #4]\n" \
    "sxtb16 r9, r8" ROTATION "\n" \
    "ldr r10, [lr], #8\n" \
    ADD_PRODUCT("r2", "r11", "r9") \
    SECOND_OF_TWO \
    ADD_PRODUCT("r0", "r10", "r9") \
    REST_OF_TWO
#else
/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_TWO_DEPTHS(LOAD, ROTATION) \
    LOAD \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    "sxtb16 r9, r8" ROTATION "\n" \
    SECOND_OF_TWO \
    ADD_PRODUCT("r2", "r11", "r9") ADD_PRODUCT("r0", "r10", "r9") \
    REST_OF_TWO
#endif

/* Two depths of three rows: r7 and r6 are weights, r8 to r10 rows. */
#define MULTIPLY_TWO_DEPTHS_OF_THREE(LOAD, ROTATION) \
    LOAD \
    "ldr r9, [lr, #4]\n" \
    "ldr r10, [lr, #8]\n" \
    "ldr r8, [lr], #12\n" \
    "sxtb16 r7, r6" ROTATION "\n" \
    "bic r6, r7, #0x000f000f\n" \
    ADD_PRODUCT("r1", "r9", "r7") ADD_PRODUCT("r2", "r10", "r7") ADD_PRODUCT("r0", "r8", "r7") \
    ADD_PRODUCT("r4", "r9", "r6") ADD_PRODUCT("r5", "r10", "r6") ADD_PRODUCT("r3", "r8", "r6")

/* Four depths, in instructions of four bytes: 30 for four rows, 24 for three. */
#define MULTIPLY_FOUR \
    MULTIPLY_TWO_DEPTHS("ldr r8, [r12]\n", "") \
    MULTIPLY_TWO_DEPTHS("ldr r8, [r12], #4\n", ", ror #8")
#define MULTIPLY_THREE \
    MULTIPLY_TWO_DEPTHS_OF_THREE("ldr r6, [r12]\n", "") \
    MULTIPLY_TWO_DEPTHS_OF_THREE("ldr r6, [r12], #4\n", ", ror #8")
#define FOUR_TIMES(text) text text text text

/* Sums begin with a part that depends on the row plus one that depends on the columns. */
#define START_FOUR \
    "ldr lr, [sp]\n" \
    "ldr r1, [lr, #4]\n" \
    "ldr r2, [lr, #8]\n" \
    "ldr r3, [lr, #12]\n" \
    "ldr r0, [lr], #16\n" \
    "ldr r8, [r12, #4]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr r5, [r12, #12]\n" \
    "ldr r9, [r12], #16\n" \
    "add r1, r8\n" \
    "add r3, r8\n" \
    "add r0, r9\n" \
    "add r2, r9\n" \
    "mov r6, r4\n" \
    "mov r7, r5\n" \
    MULTIPLY_FOUR

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
    "mov r5, r3\n"

/* Sums of rows, of their numbers plus 128. */
#define SUM(low, high) \
    "eor lr, r11, #0x80808080\n" \
    "usada8 " low ", r10, r9, " low "\n" \
    "usada8 " high ", lr, r9, " high "\n"

/* Minus COLUMN_TERM times the sums, for pairs of rows and for their second rows. */
#define ADD_TO_STARTS \
    "ldr r12, [sp, #36]\n" \
    "add r5, r5, r6, lsl #8\n" \
    "add r7, r7, r8, lsl #8\n" \
    "ldm r12, {r0-r3}\n" \
    "sub r5, r0, r5, lsl #3\n" \
    "sub r6, r1, r6, lsl #3\n" \
    "sub r7, r2, r7, lsl #3\n" \
    "sub r8, r3, r8, lsl #3\n" \
    "stm r12, {r5-r8}\n"

#define SECOND(sum) "asr " sum ", " sum ", #4\n"
#define PART_COLUMN(both, second) "sub " both ", " both ", " second "\n"
#define PART_FOUR \
    PART_COLUMN("r0", "r4") PART_COLUMN("r1", "r5") PART_COLUMN("r2", "r6") PART_COLUMN("r3", "r7")
#define PART_SECOND(paired, single) PART(paired, single) SECOND(single) SECOND(paired)
#define PART_THREE \
    PART_COLUMN("r0", "r3") PART_COLUMN("r1", "r4") PART_COLUMN("r2", "r5") SECOND("r3") SECOND("r4") SECOND("r5")

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
PAIR_FUNCTION(cm_dsp_pair_four_w4, SUM("r5", "r6"), SUM("r7", "r8"), ADD_TO_STARTS);
STRIP_FUNCTION(cm_dsp_multiply_four_w4, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR),
               OUTPUT_FOUR(PART_FOUR, PART_SECOND));
STRIP_FUNCTION(cm_dsp_multiply_three_w4, START_THREE, FOUR_TIMES(MULTIPLY_THREE), OUTPUT_THREE(PART_THREE));
/* clang-format on */

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .pair = cm_dsp_pair_four_w4,
        .four = cm_dsp_multiply_four_w4,
        .three = cm_dsp_multiply_three_w4,
        .weight_bytes = 4,
        .terms = ROWS,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_CODE_W4,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE_W4,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .three = cm_dsp_multiply_three_w4,
        .weight_bytes = 4,
        .terms = ROWS,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE_W4,
    };
    multiply_general(gemm, &loops);
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}
