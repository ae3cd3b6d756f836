/* int8 rows by weights of four bits with the DSP extension: two rows by four columns at a time.

   A halfword is a depth of four columns, four bits each: all of them plus 8 but the last one, which is the
   highest and signed. SMLAD takes two depths as they are, then without their lowest four bits; SXTB16 takes
   the upper bytes out, which are the last two columns, and they are multiplied the same way. The four sums
   are parted at the end, exact modulo 2^32, and sums of rows make good for the 8. */
#include "cortex_m7.h"
#include "simd.h"
#include "two_by_four.h"

#include <string.h>

enum { DEPTHS = 4, BLOCK_HEADS = 48 };

/* clang-format off */
#define WITHOUT_LOWEST(rest, weights) "bic " rest ", " weights ", #0x000f000f\n"
#define UPPER_BYTES(weights) "sxtb16 " weights ", " weights ", ror #8\n"

#define BEGIN(sum, row, weights, start) "smlad " sum ", " row ", " weights ", " start "\n"

/* Two depths of both rows, r8 and r9, and four columns, r10 and r11. A Cortex-M7 issues a load or another
   instruction beside each product. */
#if IS_CORTEX_M7
/* The first word of each row; sums of both begin alike. */
#define START \
    "ldr r10, [r12, #16]\n" \
    "ldr r0, [r12]\n" \
    "ldr r9, [lr, #4]\n" \
    "ldr r8, [lr]\n" \
    WITHOUT_LOWEST("r11", "r10") \
    "ldr r2, [r12, #4]\n" \
    BEGIN("r1", "r9", "r10", "r0") \
    "ldr r4, [r12, #8]\n" \
    BEGIN("r0", "r8", "r10", "r0") \
    UPPER_BYTES("r10") \
    BEGIN("r3", "r9", "r11", "r2") \
    "ldr r6, [r12, #12]\n" \
    BEGIN("r2", "r8", "r11", "r2") \
    WITHOUT_LOWEST("r11", "r10") \
    BEGIN("r5", "r9", "r10", "r4") BEGIN("r4", "r8", "r10", "r4") \
    "ldr r10, [r12, #20]!\n" \
    BEGIN("r7", "r9", "r11", "r6") \
    "ldr.w r9, [lr, #12]\n" \
    BEGIN("r6", "r8", "r11", "r6") \
    "ldr r8, [lr, #8]!\n"

#define TWO_DEPTHS \
    ADD("r0", "r8", "r10") WITHOUT_LOWEST("r11", "r10") \
    ADD("r1", "r9", "r10") UPPER_BYTES("r10") \
    ADD("r2", "r8", "r11") ADD("r3", "r9", "r11") WITHOUT_LOWEST("r11", "r10") \
    ADD("r4", "r8", "r10") ADD("r5", "r9", "r10") "ldr r10, [r12, #4]!\n" \
    ADD("r6", "r8", "r11") "ldr r8, [lr, #8]!\n" \
    ADD("r7", "r9", "r11") "ldr.w r9, [lr, #4]\n"
#else
/* The first word of each row; sums of both begin alike. */
#define START \
    "ldr r2, [r12, #4]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr r6, [r12, #12]\n" \
    "ldr r10, [r12, #16]\n" \
    "ldr r0, [r12], #20\n" \
    "ldr r9, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    WITHOUT_LOWEST("r11", "r10") \
    BEGIN("r1", "r9", "r10", "r0") BEGIN("r0", "r8", "r10", "r0") \
    UPPER_BYTES("r10") \
    BEGIN("r3", "r9", "r11", "r2") BEGIN("r2", "r8", "r11", "r2") \
    WITHOUT_LOWEST("r11", "r10") \
    BEGIN("r5", "r9", "r10", "r4") BEGIN("r4", "r8", "r10", "r4") \
    BEGIN("r7", "r9", "r11", "r6") BEGIN("r6", "r8", "r11", "r6")

/* Loads that follow each other overlap on a Cortex-M4. */
#define TWO_DEPTHS \
    "ldr r10, [r12], #4\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    WITHOUT_LOWEST("r11", "r10") \
    ADD("r0", "r8", "r10") ADD("r1", "r9", "r10") \
    UPPER_BYTES("r10") \
    ADD("r2", "r8", "r11") ADD("r3", "r9", "r11") \
    WITHOUT_LOWEST("r11", "r10") \
    ADD("r4", "r8", "r10") ADD("r5", "r9", "r10") ADD("r6", "r8", "r11") ADD("r7", "r9", "r11")
#endif

/* See four_by_two.h. */
#define SCALE(sum, multiplier) "smmlar " sum ", " sum ", " multiplier ", " sum "\n"
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum, factor) "smmlar " sum ", " sum ", " factor ", lr\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"
#define JOIN(column, place) \
    "bfi r0, " column ", #" place ", #8\n"
#define JOIN_NEXT(column, place) \
    "bfi r1, " column ", #" place ", #8\n"

/* Where negative results are clamped to the zero point, whichever way their halves are rounded; or any. Eight times
   the sums of both rows, in r8 and r9, are taken off their columns. A Cortex-M7 issues one product a cycle, and one
   instruction beside it. */
#if IS_CORTEX_M7
#define OUTPUT \
    "sub r0, r0, r2\n" "sub r2, r2, r4, lsl #8\n" \
    "ldr r11, [r12, #24]\n" \
    "sub r4, r4, r6\n" \
    "ldr r10, [sp]\n" \
    "sub r1, r1, r3\n" "sub r3, r3, r5, lsl #8\n" \
    "sub r5, r5, r7\n" "asr r7, r7, #4\n" \
    "ldr r8, [r10, #-8]\n" \
    "rsb r2, r8, r2, asr #4\n" \
    "ldr r9, [r10, #-4]\n" \
    SCALE("r7", "r11") \
    "sub r1, r1, r9\n" "sub r5, r5, r9\n" \
    "ldr r10, [r12, #16]\n" \
    "sub r0, r0, r8\n" "rsb r3, r9, r3, asr #4\n" \
    "ldr r9, [r12, #8]\n" \
    "asr r6, r6, #4\n" \
    SCALE("r6", "r11") \
    "sub r4, r4, r8\n" \
    SCALE("r3", "r9") \
    "ldr r8, [r12], #32\n" \
    "ldr r11, [r12, #-4]\n" \
    SCALE("r2", "r9") \
    "ldr r9, [r12, #-20]\n" \
    SCALE("r4", "r10") SCALE("r0", "r8") SCALE("r5", "r10") \
    "ldr lr, [sp, #24]\n" \
    SCALE("r1", "r8") \
    "bhi.w 4f\n" \
    "3:\n" \
    "ldr r8, [r12, #-28]\n" \
    SHIFT("r2", "r9") SHIFT("r6", "r11") \
    "ldr r10, [r12, #-12]\n" \
    SATURATE("r2") SHIFT("r0", "r8") SATURATE("r6") SHIFT("r5", "r10") SATURATE("r0") SHIFT("r3", "r9") \
    SATURATE("r5") SHIFT("r1", "r8") SATURATE("r3") SHIFT("r4", "r10") JOIN("r2", "8") SHIFT("r7", "r11") \
    SATURATE("r1") \
    "ldr r8, [sp, #12]\n" \
    SATURATE("r4") JOIN_NEXT("r3", "8") SATURATE("r7") \
    "ldr r9, [sp, #16]\n" \
    JOIN_NEXT("r5", "16") JOIN("r4", "16") JOIN_NEXT("r7", "24") \
    "str r1, [r8, r9]\n" \
    JOIN("r6", "24") \
    "str r0, [r8], #4\n" \
    "ldr r10, [sp, #20]\n" \
    "str r8, [sp, #12]\n"
#else
#define OUTPUT \
    "ldr r10, [sp]\n" \
    "ldr r9, [r10, #-4]\n" \
    "ldr r8, [r10, #-8]\n" \
    "sub r0, r0, r2\n" "sub r1, r1, r3\n" \
    "sub r2, r2, r4, lsl #8\n" "sub r3, r3, r5, lsl #8\n" \
    "sub r4, r4, r6\n" "sub r5, r5, r7\n" \
    "sub r0, r0, r8\n" "sub r1, r1, r9\n" \
    "rsb r2, r8, r2, asr #4\n" "rsb r3, r9, r3, asr #4\n" \
    "sub r4, r4, r8\n" "sub r5, r5, r9\n" \
    "asr r6, r6, #4\n" "asr r7, r7, #4\n" \
    "ldr r9, [r12, #8]\n" \
    "ldr r10, [r12, #16]\n" \
    "ldr r11, [r12, #24]\n" \
    "ldr r8, [r12], #32\n" \
    SCALE("r0", "r8") SCALE("r1", "r8") SCALE("r2", "r9") SCALE("r3", "r9") \
    SCALE("r4", "r10") SCALE("r5", "r10") SCALE("r6", "r11") SCALE("r7", "r11") \
    "bhi.w 4f\n" \
    "3:\n" \
    "ldr r8, [r12, #-28]\n" \
    "ldr r9, [r12, #-20]\n" \
    "ldr r10, [r12, #-12]\n" \
    "ldr r11, [r12, #-4]\n" \
    "ldr lr, [sp, #24]\n" \
    SHIFT("r0", "r8") SHIFT("r1", "r8") SHIFT("r2", "r9") SATURATE("r0") SHIFT("r3", "r9") SATURATE("r1") \
    SHIFT("r4", "r10") SATURATE("r2") SHIFT("r5", "r10") SATURATE("r3") SHIFT("r6", "r11") SATURATE("r4") \
    SHIFT("r7", "r11") SATURATE("r5") \
    "ldr r8, [sp, #12]\n" \
    "ldr r9, [sp, #16]\n" \
    "ldr r10, [sp, #20]\n" \
    SATURATE("r6") SATURATE("r7") \
    JOIN("r2", "8") JOIN_NEXT("r3", "8") JOIN("r4", "16") JOIN_NEXT("r5", "16") JOIN("r6", "24") \
    JOIN_NEXT("r7", "24") \
    "str r1, [r8, r9]\n" \
    "str r0, [r8], #4\n" \
    "str r8, [sp, #12]\n"
#endif

#define OTHER_OUTPUT \
    "4:\n" \
    AWAY_FROM_ZERO("r0") AWAY_FROM_ZERO("r1") AWAY_FROM_ZERO("r2") AWAY_FROM_ZERO("r3") \
    AWAY_FROM_ZERO("r4") AWAY_FROM_ZERO("r5") AWAY_FROM_ZERO("r6") AWAY_FROM_ZERO("r7") \
    "b.w 3b\n"

/* Four depths of two rows: r4 and r6 are words of the first one, r5 and r7 of the other. */
#define WIDEN_FOUR \
    "ldr r6, [r1], #4\n" \
    "ldr r7, [r2], #4\n" \
    "sxtb16 r4, r6\n" "sxtb16 r6, r6, ror #8\n" \
    "sxtb16 r5, r7\n" "sxtb16 r7, r7, ror #8\n" \
    ADD("r8", "r4", "r10") ADD("r9", "r5", "r10") ADD("r8", "r6", "r10") ADD("r9", "r7", "r10") \
    "stm r0!, {r4-r7}\n"

/* Rows after 8 times their sums. */
#define PACK \
    ".p2align 2\n" \
    "5:\n" \
    WIDEN_FOUR \
    "subs r3, #2\n" \
    "bne 5b\n" \
    "lsl r8, r8, #3\n" \
    "lsl r9, r9, #3\n"

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
STRIP_FUNCTION(cm_dsp_multiply_nibbles, PACK, START, TWO_DEPTHS, OUTPUT, OTHER_OUTPUT);
/* clang-format on */

/* The columns of two rows that are no block of four; both are in the workspace if there are others. */
static __attribute__((noinline)) void multiply_rest(const struct strip *whole, const struct cm_gemm *gemm,
                                                    int32_t block)
{
    const int32_t rest = gemm->columns % COLUMNS;
    int8_t results[ROWS][COLUMNS], *const out = gemm->out + gemm->columns - rest;
    struct strip strip = *whole;
    if (gemm->columns > rest)
        strip.lhs = NULL;
    strip.out = results;
    strip.out_stride = COLUMNS;
    strip.weights = whole->weights_end;
    strip.weights_end = strip.weights + block;
    cm_dsp_multiply_nibbles(&strip);
    memcpy(out, results[0], (size_t)rest);
    memcpy(out + gemm->out_stride, results[1], (size_t)rest);
}

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    const int32_t chunks = gemm->depth > 0 ? (gemm->depth + DEPTHS - 1) / DEPTHS : 1, words = 2 * chunks;
    const int32_t block = BLOCK_HEADS + words * (int32_t)sizeof(uint32_t);
    uint32_t *const workspace = gemm->workspace;
    struct strip strip = strip_of(workspace + ROWS, words, gemm->out_stride);
    struct cm_gemm left = *gemm;
    strip.rows_end -= gemm->output.rounding != CM_ROUND_HALF_UP;
    strip.zero_point = gemm->output.zero_point;
    strip.weights = gemm->weights;
    strip.weights_end = strip.weights + gemm->columns / COLUMNS * block;
    strip.lhs_stride = gemm->lhs_stride;
    strip.words = words;
    if (gemm->columns % COLUMNS == 0)
        strip.pairs = gemm->rows / ROWS;
    for (const int32_t rows = ROWS * strip.pairs; rows > 0 && left.rows >= rows; left.rows -= rows) {
        strip.lhs = left.lhs;
        strip.out = left.out;
        if (strip.weights != strip.weights_end)
            cm_dsp_multiply_nibbles(&strip);
        if (left.columns % COLUMNS != 0)
            multiply_rest(&strip, &left, block);
        left.lhs += rows * left.lhs_stride;
        left.out += rows * left.out_stride;
    }
    if (left.rows > 0)
        cm_isa_gemv_s8_w4(&left);
}

/* For outputs that the assembly does not support: row by row. */
void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    struct cm_gemm row = *gemm;
    for (; row.rows > 0; --row.rows) {
        cm_isa_gemv_s8_w4_general(&row);
        row.lhs += row.lhs_stride;
        row.out += row.out_stride;
    }
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}
