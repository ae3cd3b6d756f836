/* int8 rows by int16 weights with the DSP extension: see four_by_two.h.

   Nothing is widened within the loop, for twice the flash. */
#include "cortex_m7.h"
#include "four_by_two.h"

/* clang-format off */
/* Two depths of four rows: r8 and r9 are weights, r10 and r11 rows, two each. */
#if IS_CORTEX_M7
/* A Cortex-M7 issues a load beside each product, of what is used two cycles later. So the first words of the
   next two depths are loaded here, even after the last ones: those are of the rescaling, and up to four bytes
   behind the rows. */
#define PRELOAD \
    "ldr r8, [r12]\n" \
    "ldr r9, [r12, #4]\n" \
    "ldr r10, [lr]\n"

#define MULTIPLY_TWO_DEPTHS \
    ADD_PRODUCT("r0", "r10", "r8") \
    "ldr r11, [lr, #4]\n" \
    ADD_PRODUCT("r4", "r10", "r9") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r2", "r11", "r8") ADD_PRODUCT("r6", "r11", "r9") \
    "sxtb16 r11, r11, ror #8\n" \
    ADD_PRODUCT("r1", "r10", "r8") ADD_PRODUCT("r5", "r10", "r9") \
    "ldr r10, [lr, #8]!\n" \
    ADD_PRODUCT("r3", "r11", "r8") \
    "ldr r8, [r12, #8]!\n" \
    ADD_PRODUCT("r7", "r11", "r9") \
    "ldr r9, [r12, #4]\n"

/* Of three rows: r6 and r7 are weights, r8 to r10 rows. */
#define PRELOAD_THREE \
    "ldr r6, [r12]\n" \
    "ldr r7, [r12, #4]\n" \
    "ldr r9, [lr]\n"

#define MULTIPLY_TWO_DEPTHS_OF_THREE \
    "ldr r10, [lr, #4]\n" \
    ADD_PRODUCT("r0", "r9", "r6") ADD_PRODUCT("r3", "r9", "r7") \
    "ldr r8, [lr, #8]\n" \
    ADD_PRODUCT("r1", "r10", "r6") ADD_PRODUCT("r2", "r8", "r6") \
    "ldr r6, [r12, #8]!\n" \
    "ldr r9, [lr, #12]!\n" \
    ADD_PRODUCT("r5", "r8", "r7") ADD_PRODUCT("r4", "r10", "r7") \
    "ldr r7, [r12, #4]\n"
#else
#define PRELOAD ""
#define PRELOAD_THREE ""

/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_TWO_DEPTHS \
    "ldr r9, [r12, #4]\n" \
    "ldr r8, [r12], #8\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    ADD_PRODUCT("r6", "r11", "r9") ADD_PRODUCT("r2", "r11", "r8") \
    "sxtb16 r11, r11, ror #8\n" \
    ADD_PRODUCT("r4", "r10", "r9") ADD_PRODUCT("r0", "r10", "r8") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r7", "r11", "r9") ADD_PRODUCT("r3", "r11", "r8") \
    ADD_PRODUCT("r5", "r10", "r9") ADD_PRODUCT("r1", "r10", "r8")

#define MULTIPLY_TWO_DEPTHS_OF_THREE \
    "ldr r7, [r12, #4]\n" \
    "ldr r6, [r12], #8\n" \
    "ldr r9, [lr, #4]\n" \
    "ldr r10, [lr, #8]\n" \
    "ldr r8, [lr], #12\n" \
    ADD_PRODUCT("r4", "r9", "r7") ADD_PRODUCT("r1", "r9", "r6") \
    ADD_PRODUCT("r5", "r10", "r7") ADD_PRODUCT("r2", "r10", "r6") \
    ADD_PRODUCT("r3", "r8", "r7") ADD_PRODUCT("r0", "r8", "r6")
#endif

#define START_FOUR \
    "ldr lr, [sp]\n" \
    "ldr r1, [r12, #4]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr r5, [r12, #12]\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    "ldr r8, [r12, #16]\n" \
    "ldr r9, [r12, #20]\n" \
    "ldr r0, [r12], #24\n" \
    START_SUMS("") \
    PRELOAD \
    MULTIPLY_TWO_DEPTHS

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
PAIR_FUNCTION(cm_dsp_pair_four_w16);
STRIP_FUNCTION(cm_dsp_multiply_four_w16, START_FOUR, FOUR_TIMES(MULTIPLY_FOUR MULTIPLY_FOUR), OUTPUT_FOUR(PART_ROWS));
STRIP_FUNCTION(cm_dsp_multiply_three_w16, START_THREE, FOUR_TIMES(MULTIPLY_THREE), OUTPUT_THREE(""));
/* clang-format on */

void cm_isa_gemm_s8_w16(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .pair = cm_dsp_pair_four_w16,
        .four = cm_dsp_multiply_four_w16,
        .three = cm_dsp_multiply_three_w16,
        .weight_bytes = 16,
        .four_turn = FOUR_TURN,
        .four_code = FOUR_CODE,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE,
    };
    multiply_rows(gemm, &loops);
}

void cm_isa_gemm_s8_w16_general(const struct cm_gemm *gemm)
{
    static const struct loops loops = {
        .three = cm_dsp_multiply_three_w16,
        .weight_bytes = 16,
        .three_turn = THREE_TURN,
        .three_code = THREE_CODE,
    };
    multiply_general(gemm, &loops);
}
