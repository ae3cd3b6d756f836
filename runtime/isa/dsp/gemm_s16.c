/* int16 rows by int8 weights with the DSP extension: two rows by four columns at a time, or one row.

   Rows are operands of SMLAD as they are. One word of weights holds two depths of two columns, 256 times the
   second one plus 128 plus the first one: SXTB16 takes the second one out, and products of both less 256
   times its own are those of the first one. All of it is exact modulo 2^32, which holds the sums. Sums of
   rows make good for the 128.

   Rescaling is requantize_s64 for sums of 32 bits: SMULWB is (sum * multiplier) >> 16, SMMULR by a power of
   two the rest of the shift and its rounding. */
#include "cmrt/short_output.h"
#include "cortex_m7.h"
#include "two_by_four.h"

#include <arm_acle.h>
#include <stdbool.h>
#include <string.h>

/* Turns of one row's loop, of two words each, and bytes of code for one. */
enum { ROW_TURN = 8, ROW_CODE = 72 };

/* Starts of the sums of four columns, before their weights. */
struct starts {
    int32_t both, second; /* the bias of the first column plus 256 times that of the second; and that */
    int32_t next_both, next_second;
};

/* Of four columns, after their weights. */
struct rescale {
    int16_t multiplier[COLUMNS];
    int32_t factor[COLUMNS]; /* 2^(33 - shift to the right) */
};

/* clang-format off */
/* Two depths of both rows, r8 and r9, and four columns, r10 and r11. */
#if IS_CORTEX_M7
#define PRELOAD LOAD_NEXT

#define TWO_DEPTHS \
    ADD("r0", "r8", "r10") \
    "ldr.w r11, [r12, #4]\n" \
    ADD("r1", "r9", "r10") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD("r4", "r8", "r11") ADD("r5", "r9", "r11") \
    "sxtb16 r11, r11, ror #8\n" \
    ADD("r2", "r8", "r10") ADD("r3", "r9", "r10") \
    "ldr r10, [r12, #8]!\n" \
    ADD("r6", "r8", "r11") \
    "ldr r8, [lr, #8]!\n" \
    ADD("r7", "r9", "r11") \
    "ldr.w r9, [lr, #4]\n"

/* The same for four depths of a row, r8 and r9, and four columns: r4 and r5, then r6 and r7. */
#define PRELOAD_ROW \
    "ldrd r4, r5, [r12]\n" \
    "ldr r8, [lr]\n"

#define FOUR_DEPTHS \
    "ldr.w r6, [r12, #8]\n" \
    "ldr.w r7, [r12, #12]\n" \
    ADD("r0", "r8", "r4") \
    "ldr.w r9, [lr, #4]\n" \
    "sxtb16 r4, r4, ror #8\n" \
    ADD("r2", "r8", "r5") \
    "sxtb16 r5, r5, ror #8\n" \
    ADD("r1", "r8", "r4") ADD("r3", "r8", "r5") \
    "ldr r8, [lr, #8]!\n" \
    ADD("r0", "r9", "r6") \
    "ldr r4, [r12, #16]!\n" \
    "sxtb16 r6, r6, ror #8\n" \
    ADD("r2", "r9", "r7") \
    "sxtb16 r7, r7, ror #8\n" \
    ADD("r1", "r9", "r6") ADD("r3", "r9", "r7") \
    "ldr.w r5, [r12, #4]\n"
#else
#define PRELOAD ""
#define PRELOAD_ROW ""

#define FOUR_DEPTHS \
    "ldr.w r5, [r12, #4]\n" \
    "ldr.w r6, [r12, #8]\n" \
    "ldr.w r7, [r12, #12]\n" \
    "ldr r4, [r12], #16\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    ADD("r0", "r9", "r6") \
    "sxtb16 r6, r6, ror #8\n" \
    ADD("r2", "r9", "r7") \
    "sxtb16 r7, r7, ror #8\n" \
    ADD("r0", "r8", "r4") \
    "sxtb16 r4, r4, ror #8\n" \
    ADD("r2", "r8", "r5") \
    "sxtb16 r5, r5, ror #8\n" \
    ADD("r1", "r9", "r6") ADD("r3", "r9", "r7") ADD("r1", "r8", "r4") ADD("r3", "r8", "r5")

/* Loads that follow each other overlap on a Cortex-M4. */
#define TWO_DEPTHS \
    "ldr.w r11, [r12, #4]\n" \
    "ldr r10, [r12], #8\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    ADD("r5", "r9", "r11") ADD("r1", "r9", "r10") ADD("r4", "r8", "r11") ADD("r0", "r8", "r10") \
    "sxtb16 r11, r11, ror #8\n" \
    "sxtb16 r10, r10, ror #8\n" \
    ADD("r7", "r9", "r11") ADD("r6", "r8", "r11") ADD("r3", "r9", "r10") ADD("r2", "r8", "r10")
#endif

#define PART(both, second) "sub " both ", " both ", " second ", lsl #8\n"
#define SCALE(sum, half, multipliers) "smulw" half " " sum ", " sum ", " multipliers "\n"
#define SHIFT(sum, factor) "smmulr " sum ", " sum ", " factor "\n"
#define SATURATE(sum) "ssat " sum ", #16, " sum "\n"
#define RECTIFY(pair) "usat16hi " pair ", #15, " pair "\n"
#define JOIN(low, high) "pkhbt " low ", " low ", " high ", lsl #16\n"

/* Rows after -128 times their sums. */
#define PACK \
    PACK_SHORTS \
    "rsb r8, r8, #0\n" \
    "rsb r9, r9, #0\n" \
    "lsl r8, r8, #7\n" \
    "lsl r9, r9, #7\n"

/* The first word of each row. */
#define START \
    "ldr r2, [r12, #4]\n" \
    "ldr r4, [r12, #8]\n" \
    "ldr r6, [r12, #12]\n" \
    "ldr r10, [r12, #16]\n" \
    "ldr r11, [r12, #20]\n" \
    "ldr r1, [r12], #24\n" \
    "ldr r5, [lr, #-4]\n" \
    "ldr r3, [lr, #-8]\n" \
    "ldr r9, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    "add r0, r3, r1\n" \
    "add r1, r5, r1\n" \
    "add r5, r5, r4\n" \
    "add r4, r3, r4\n" \
    ADD("r1", "r9", "r10") ADD("r0", "r8", "r10") ADD("r5", "r9", "r11") ADD("r4", "r8", "r11") \
    "sxtb16 r10, r10, ror #8\n" \
    "sxtb16 r11, r11, ror #8\n" \
    "smlad r3, r9, r10, r2\n" "smlad r2, r8, r10, r2\n" \
    "smlad r7, r9, r11, r6\n" "smlad r6, r8, r11, r6\n" \
    PRELOAD

/* Any result; or those below 0 become 0. A Cortex-M7 issues one product a cycle, and one saturation beside it. */
#if IS_CORTEX_M7
#define OUTPUT \
    "ldr r8, [r12, #4]\n" \
    "ldr r9, [r12, #8]\n" \
    "ldr r10, [r12, #12]\n" \
    "ldr lr, [r12], #24\n" \
    PART("r4", "r6") SCALE("r6", "t", "r8") PART("r0", "r2") SCALE("r2", "t", "lr") PART("r1", "r3") \
    SCALE("r0", "b", "lr") \
    "ldr r11, [sp, #12]\n" \
    SCALE("r1", "b", "lr") PART("r5", "r7") SCALE("r3", "t", "lr") \
    "ldr lr, [r12, #-4]\n" \
    SCALE("r5", "b", "r8") SHIFT("r0", "r9") SCALE("r4", "b", "r8") SHIFT("r1", "r9") SATURATE("r0") \
    SCALE("r7", "t", "r8") \
    "ldr r8, [r12, #-8]\n" \
    SHIFT("r2", "r10") SATURATE("r1") SHIFT("r3", "r10") SATURATE("r2") SHIFT("r4", "r8") SATURATE("r3") \
    SHIFT("r5", "r8") SATURATE("r4") \
    "ldr r9, [sp, #16]\n" \
    JOIN("r1", "r3") SHIFT("r6", "lr") SATURATE("r5") \
    "ldr r10, [sp, #20]\n" \
    SATURATE("r6") SHIFT("r7", "lr") JOIN("r0", "r2") SATURATE("r7") JOIN("r4", "r6") \
    "add r9, r11\n" \
    JOIN("r5", "r7") \
    "itttt hi\n" \
    RECTIFY("r0") RECTIFY("r1") RECTIFY("r4") RECTIFY("r5") \
    "str r0, [r11], #4\n" \
    "str r1, [r9]\n" \
    "str r4, [r11], #4\n" \
    "str r11, [sp, #12]\n" \
    "str r5, [r9, #4]\n"
#else
#define OUTPUT \
    "ldr r8, [r12, #4]\n" \
    "ldr r9, [r12, #8]\n" \
    "ldr r10, [r12, #12]\n" \
    "ldr lr, [r12], #24\n" \
    PART("r0", "r2") PART("r1", "r3") \
    SCALE("r2", "t", "lr") PART("r4", "r6") SCALE("r0", "b", "lr") PART("r5", "r7") \
    SCALE("r3", "t", "lr") SCALE("r1", "b", "lr") \
    SCALE("r4", "b", "r8") SCALE("r5", "b", "r8") SCALE("r6", "t", "r8") SCALE("r7", "t", "r8") \
    "ldr r8, [r12, #-8]\n" \
    "ldr lr, [r12, #-4]\n" \
    "ldr r11, [sp, #12]\n" \
    SHIFT("r0", "r9") SHIFT("r1", "r9") SHIFT("r2", "r10") SATURATE("r0") SHIFT("r3", "r10") SATURATE("r1") \
    SHIFT("r4", "r8") SATURATE("r2") SHIFT("r5", "r8") SATURATE("r3") \
    SHIFT("r6", "lr") JOIN("r0", "r2") SHIFT("r7", "lr") JOIN("r1", "r3") \
    "ldr r9, [sp, #16]\n" \
    "ldr r10, [sp, #20]\n" \
    SATURATE("r4") SATURATE("r5") SATURATE("r6") SATURATE("r7") \
    "add r9, r11\n" \
    JOIN("r4", "r6") JOIN("r5", "r7") \
    "itttt hi\n" \
    RECTIFY("r0") RECTIFY("r1") RECTIFY("r4") RECTIFY("r5") \
    "str r0, [r11], #4\n" \
    "str r1, [r9]\n" \
    "str r4, [r11], #4\n" \
    "str r5, [r9, #4]\n" \
    "str r11, [sp, #12]\n"
#endif

#pragma GCC diagnostic ignored "-Woverlength-strings"
STRIP_FUNCTION(cm_dsp_multiply_short, PACK, START, TWO_DEPTHS, OUTPUT, "");

/* The same for one row, four depths at a time after one word of an odd number, which the stride tells. */
strip_function cm_dsp_multiply_short_row;
__asm(CM_ASM_FUNCTION(cm_dsp_multiply_short_row)
    ENTER_STRIP
    "mov r10, r4\n"
    "mov r11, r2\n"
    "1:\n"
    "ldr lr, [sp]\n"
    "ldr r5, [sp, #16]\n"
    "ldm r12!, {r0-r3}\n"
    "ldr r4, [lr, #-4]\n"
    "add r0, r4\n"
    "add r2, r4\n"
    "cbz r5, 3f\n"
    "ldr r5, [r12, #4]\n"
    "ldr r4, [r12], #8\n"
    "ldr r8, [lr], #4\n"
    ADD("r0", "r8", "r4") ADD("r2", "r8", "r5")
    "sxtb16 r4, r4, ror #8\n"
    "sxtb16 r5, r5, ror #8\n"
    ADD("r1", "r8", "r4") ADD("r3", "r8", "r5")
    "3:\n"
    PRELOAD_ROW
    "ldr pc, [sp, #8]\n"
    ".p2align 2\n"
    "2:\n"
    FOUR_TIMES(FOUR_DEPTHS FOUR_DEPTHS)
    "cmp lr, r11\n"
    "blo.w 2b\n"
    "ldm r12!, {r4-r9}\n"
    PART("r0", "r1") PART("r2", "r3")
    SCALE("r0", "b", "r4") SCALE("r1", "t", "r4") SCALE("r2", "b", "r5") SCALE("r3", "t", "r5")
    SHIFT("r0", "r6") SHIFT("r1", "r7") SHIFT("r2", "r8") SHIFT("r3", "r9")
    SATURATE("r0") SATURATE("r1") SATURATE("r2") SATURATE("r3")
    JOIN("r0", "r1") JOIN("r2", "r3")
    "itt hi\n"
    RECTIFY("r0") RECTIFY("r2")
    "ldr r4, [sp, #20]\n"
    "str r0, [r10], #4\n"
    "str r2, [r10], #4\n"
    "cmp r12, r4\n"
    "bne.w 1b\n"
    "add sp, #28\n"
    "pop {r4-r11, pc}\n"
    CM_ASM_END);
/* clang-format on */

static uint32_t load_pair(const int16_t *from)
{
    uint32_t pair;
    memcpy(&pair, from, sizeof pair);
    return pair;
}

/* Words of a row, after -128 times its sum. Loads that follow each other overlap on a Cortex-M4. */
static void pack_row(uint32_t *out, const int16_t *row, int32_t words)
{
    const int16x2_t ones = 0x10001;
    int32_t sum = 0;
    uint32_t *const terms = out++;
    for (; (words & 3) != 0; --words, row += 2) {
        uint32_t word = load_pair(row);
        sum = __smlad((int16x2_t)word, ones, sum);
        *out++ = word;
    }
    for (; words > 0; words -= 4, row += 8, out += 4) {
        const uint32_t a = load_pair(row), b = load_pair(row + 2), c = load_pair(row + 4),
                       d = load_pair(row + 6);
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = d;
        sum = __smlad((int16x2_t)a, ones, sum);
        sum = __smlad((int16x2_t)b, ones, sum);
        sum = __smlad((int16x2_t)c, ones, sum);
        sum = __smlad((int16x2_t)d, ones, sum);
    }
    *terms = 0U - 128U * (uint32_t)sum;
}

/* Outputs within other bounds than those of int16, in place. */
static void clamp(const struct cm_short_range *range, int16_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        out[i] = (int16_t)cm_clamp(out[i], range->minimum, range->maximum);
}

/* The columns of a row or two that are no block of four; both are in the workspace if there are others. */
static __attribute__((noinline)) void multiply_rest(const struct strip *whole, strip_function *run,
                                                    const struct cm_gemm *gemm, int32_t block, int8_t *first)
{
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t), rest = columns % COLUMNS;
    int16_t results[ROWS][COLUMNS], *const out = (int16_t *)(void *)first + columns - rest;
    struct strip strip = *whole;
    const bool is_pair = run == cm_dsp_multiply_short;
    if (columns > rest)
        strip.lhs = NULL;
    strip.out = results;
    if (is_pair)
        strip.out_stride = sizeof results[0];
    strip.weights = whole->weights_end;
    strip.weights_end = strip.weights + block;
    run(&strip);
    memcpy(out, results[0], (size_t)rest * sizeof *out);
    if (is_pair)
        memcpy((int8_t *)out + gemm->out_stride, results[1], (size_t)rest * sizeof *out);
}

/* All columns of a row in the workspace, or of pairs of rows: of one if there are columns beyond blocks. */
static inline void multiply(struct strip *strip, strip_function *run, const struct cm_gemm *gemm,
                            int32_t block, int8_t *out)
{
    strip->out = out;
    if (strip->weights != strip->weights_end)
        run(strip);
    if (gemm->columns % (COLUMNS * (int32_t)sizeof(int16_t)) != 0)
        multiply_rest(strip, run, gemm, block, out);
}

static void multiply_row(const struct cm_gemm *gemm, const struct strip *pair, int32_t words,
                         bool is_rectified, int32_t block, const int8_t *lhs, int8_t *out)
{
    const int32_t twos = words / 2;
    uint32_t *const workspace = gemm->workspace;
    struct strip strip = *pair;
    strip.rows = workspace + 1;
    strip.rows_end = (uintptr_t)(workspace + 1 + words) - is_rectified;
    strip.entry = (twos > 0 ? -twos & (ROW_TURN - 1) : ROW_TURN) * ROW_CODE;
    strip.out_stride = words & 1;
    pack_row(workspace, (const int16_t *)(const void *)lhs, words);
    multiply(&strip, cm_dsp_multiply_short_row, gemm, block, out);
}

void cm_isa_gemm_s16(const struct cm_gemm *gemm)
{
    const int32_t words = (gemm->depth / (int32_t)sizeof(int16_t) + 1) / 2;
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t);
    const int32_t block = (int32_t)(sizeof(struct starts) + sizeof(struct rescale)) +
                          words * COLUMNS * (int32_t)sizeof(int16_t);
    const struct cm_short_range *range = gemm->weights;
    const bool is_rectified = range->minimum == 0;
    const bool is_clamped = (range->minimum != INT16_MIN && !is_rectified) || range->maximum != INT16_MAX;
    uint32_t *const workspace = gemm->workspace;
    struct strip strip = strip_of(workspace + ROWS, words, gemm->out_stride);
    const int8_t *lhs = gemm->lhs;
    int8_t *out = gemm->out;
    int32_t left = gemm->rows;
    strip.rows_end -= is_rectified;
    strip.weights = (const uint8_t *)(range + 1);
    strip.weights_end = strip.weights + columns / COLUMNS * block;
    strip.lhs_stride = gemm->lhs_stride;
    strip.words = words;
    if (columns % COLUMNS == 0)
        strip.pairs = gemm->rows / ROWS;
    for (const int32_t rows = ROWS * strip.pairs; rows > 0 && left >= rows; left -= rows) {
        strip.lhs = lhs;
        multiply(&strip, cm_dsp_multiply_short, gemm, block, out);
        lhs += rows * gemm->lhs_stride;
        out += rows * gemm->out_stride;
    }
    if (left > 0)
        multiply_row(gemm, &strip, words, is_rectified, block, lhs, out);
    for (int32_t row = 0; is_clamped && row < gemm->rows; ++row)
        clamp(range, (int16_t *)(void *)(gemm->out + row * gemm->out_stride), columns);
}
