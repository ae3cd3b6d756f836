/* int16 rows by int8 weights with the DSP extension: two rows by four columns at a time, or one row.

   Rows are operands of SMLAD as they are. One word of weights holds two depths of two columns, 256 times the
   second one plus 128 plus the first one: SXTB16 takes the second one out, and products of both less 256
   times its own are those of the first one. All of it is exact modulo 2^32, which holds the sums. Sums of
   rows make good for the 128.

   Rescaling is requantize_s64 for sums of 32 bits: SMULWB is (sum * multiplier) >> 16, SMMULR by a power of
   two the rest of the shift and its rounding. */
#include "cmrt/assembly.h"
#include "cmrt/isa.h"
#include "cmrt/short_output.h"

#include <arm_acle.h>
#include <stdbool.h>
#include <string.h>

enum {
    ROWS = 2,
    COLUMNS = 4,
    TURN = 16,     /* words of a row in each turn of the loop */
    CODE = 56,     /* bytes of the instructions for one */
    ROW_CODE = 72, /* for two of one row */
};

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

/* Operands of the assembly. */
struct strip {
    const uint32_t *rows; /* what the sums of both rows begin with, then words of both in turn */
    uintptr_t rows_end;
    int32_t entry; /* entry point, in bytes from the loop's start */
    int16_t *out;
    int32_t out_stride; /* of one row: whether its words are odd in number */
    const uint8_t *weights_end;
    const uint8_t *weights;
    int32_t is_rectified; /* outputs below 0 become 0 */
};
typedef void strip_function(const struct strip *strip);
strip_function cm_dsp_multiply_short, cm_dsp_multiply_short_row;

/* clang-format off */
#define ADD(sum, row, weights) "smlad " sum ", " row ", " weights ", " sum "\n"

/* Two depths of both rows, r8 and r9, and four columns, r10 and r11. */
#if defined(__ARM_ARCH_7EM__) && defined(__ARM_FP) && (__ARM_FP & 8)
/* A Cortex-M7 issues a load or SXTB16 beside each product: the next operands are loaded here. */
#define PRELOAD \
    "ldr r10, [r12]\n" \
    "ldr r8, [lr]\n" \
    "ldr r9, [lr, #4]\n"

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
    ADD("r0", "r8", "r4") \
    "ldr.w r9, [lr, #4]\n" \
    "sxtb16 r4, r4, ror #8\n" \
    "ldr.w r6, [r12, #8]\n" \
    ADD("r2", "r8", "r5") \
    "sxtb16 r5, r5, ror #8\n" \
    ADD("r1", "r8", "r4") \
    "ldr.w r7, [r12, #12]\n" \
    ADD("r3", "r8", "r5") \
    "ldr r4, [r12, #16]!\n" \
    ADD("r0", "r9", "r6") \
    "sxtb16 r6, r6, ror #8\n" \
    ADD("r2", "r9", "r7") \
    "sxtb16 r7, r7, ror #8\n" \
    "ldr r8, [lr, #8]!\n" \
    ADD("r1", "r9", "r6") \
    "ldr.w r5, [r12, #4]\n" \
    ADD("r3", "r9", "r7")
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

#define FOUR_TIMES(text) text text text text
#define PART(both, second) "sub " both ", " both ", " second ", lsl #8\n"
#define SCALE(sum, half, multipliers) "smulw" half " " sum ", " sum ", " multipliers "\n"
#define SHIFT(sum, factor) "smmulr " sum ", " sum ", " factor "\n"
#define SATURATE(sum) "ssat " sum ", #16, " sum "\n"
#define RECTIFY(pair) "usat16ne " pair ", #15, " pair "\n"
#define JOIN(low, high) "pkhbt " low ", " low ", " high ", lsl #16\n"

/* On the stack: rows, their end, the entry point, out, its stride, the end of the weights, is_rectified. */
#define ENTER \
    "push {r4-r11, lr}\n" \
    "sub sp, #28\n" \
    "ldm r0!, {r1-r6}\n" \
    "ldrd r12, r7, [r0]\n" \
    "str r7, [sp, #24]\n" \
    "adr.w r7, 2f\n" \
    "add r3, r7\n" \
    "adds r3, #1\n" \
    "stm sp, {r1-r6}\n"

#pragma GCC diagnostic ignored "-Woverlength-strings"
__asm(CM_ASM_FUNCTION(cm_dsp_multiply_short)
    ENTER
    ".p2align 2\n"
    "1:\n"
    "ldr lr, [sp]\n"
    "ldr r2, [r12, #4]\n"
    "ldr r5, [r12, #8]\n"
    "ldr r6, [r12, #12]\n"
    "ldr r1, [lr, #4]\n"
    "ldr r4, [lr], #8\n"
    "ldr r3, [r12], #16\n"
    "adds r0, r4, r3\n"
    "adds r3, r1, r3\n"
    "mov r7, r6\n"
    "adds r4, r4, r5\n"
    "adds r5, r1, r5\n"
    "mov r1, r3\n"
    "mov r3, r2\n"
    PRELOAD
    "ldr pc, [sp, #8]\n"
    ".p2align 2\n"
    "2:\n"
    FOUR_TIMES(FOUR_TIMES(TWO_DEPTHS))
    "ldr r11, [sp, #4]\n"
    "cmp lr, r11\n"
    "blo.w 2b\n"
    PART("r0", "r2")
    "ldr r8, [r12, #4]\n"
    "ldr r9, [r12, #8]\n"
    "ldr r10, [r12, #12]\n"
    "ldr lr, [r12], #24\n"
    PART("r1", "r3") PART("r4", "r6") PART("r5", "r7")
    SCALE("r0", "b", "lr") SCALE("r2", "t", "lr") SCALE("r4", "b", "r8") SCALE("r6", "t", "r8")
    SCALE("r1", "b", "lr") SCALE("r3", "t", "lr") SCALE("r5", "b", "r8") SCALE("r7", "t", "r8")
    "ldr r8, [r12, #-8]\n"
    "ldr lr, [r12, #-4]\n"
    "ldr r11, [sp, #12]\n"
    SHIFT("r0", "r9") SHIFT("r1", "r9") SHIFT("r2", "r10") SHIFT("r3", "r10")
    SHIFT("r4", "r8") SHIFT("r5", "r8") SHIFT("r6", "lr") SHIFT("r7", "lr")
    "ldr r9, [sp, #16]\n"
    "ldr r10, [sp, #20]\n"
    SATURATE("r0") SATURATE("r2") SATURATE("r4") SATURATE("r6")
    SATURATE("r1") SATURATE("r3") SATURATE("r5") SATURATE("r7")
    JOIN("r0", "r2") JOIN("r4", "r6") JOIN("r1", "r3") JOIN("r5", "r7")
    "ldr r2, [sp, #24]\n"
    "add r9, r11\n"
    "cmp r2, #0\n"
    "itttt ne\n"
    RECTIFY("r0") RECTIFY("r4") RECTIFY("r1") RECTIFY("r5")
    "str r0, [r11], #4\n"
    "str r4, [r11], #4\n"
    "str r1, [r9]\n"
    "str r5, [r9, #4]\n"
    "str r11, [sp, #12]\n"
    "cmp r12, r10\n"
    "bne.w 1b\n"
    "add sp, #28\n"
    "pop {r4-r11, pc}\n"
    CM_ASM_END);

/* The same for one row, four depths at a time after one word of an odd number. */
__asm(CM_ASM_FUNCTION(cm_dsp_multiply_short_row)
    ENTER
    "1:\n"
    "ldr lr, [sp]\n"
    "ldr r5, [sp, #16]\n"
    "ldm r12!, {r0-r3}\n"
    "ldr r4, [lr], #4\n"
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
    "ldr r11, [sp, #4]\n"
    "cmp lr, r11\n"
    "blo.w 2b\n"
    "ldm r12!, {r4-r9}\n"
    PART("r0", "r1") PART("r2", "r3")
    "ldr r11, [sp, #12]\n"
    "ldr r10, [sp, #24]\n"
    SCALE("r0", "b", "r4") SCALE("r1", "t", "r4") SCALE("r2", "b", "r5") SCALE("r3", "t", "r5")
    SHIFT("r0", "r6") SHIFT("r1", "r7") SHIFT("r2", "r8") SHIFT("r3", "r9")
    SATURATE("r0") SATURATE("r1") SATURATE("r2") SATURATE("r3")
    JOIN("r0", "r1") JOIN("r2", "r3")
    "cmp r10, #0\n"
    "itt ne\n"
    RECTIFY("r0") RECTIFY("r2")
    "ldr r10, [sp, #20]\n"
    "str r0, [r11], #4\n"
    "str r2, [r11], #4\n"
    "str r11, [sp, #12]\n"
    "cmp r12, r10\n"
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

/* Words of two rows in turn, after -128 times their sums. */
static void pack_rows(uint32_t *out, const int16_t *first, const int16_t *second, int32_t depth)
{
    const int16x2_t ones = 0x10001;
    int32_t sum = 0, next_sum = 0;
    uint32_t *words = out + ROWS;
    int32_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        uint32_t a = load_pair(first + k), b = load_pair(second + k);
        uint32_t c = load_pair(first + k + 2), d = load_pair(second + k + 2);
        sum = __smlad((int16x2_t)a, ones, sum);
        next_sum = __smlad((int16x2_t)b, ones, next_sum);
        sum = __smlad((int16x2_t)c, ones, sum);
        next_sum = __smlad((int16x2_t)d, ones, next_sum);
        words[0] = a;
        words[1] = b;
        words[2] = c;
        words[3] = d;
        words += 4;
    }
    for (; k < depth; k += 2) {
        bool is_whole = k + 1 < depth;
        uint32_t a = is_whole ? load_pair(first + k) : (uint16_t)first[k];
        uint32_t b = is_whole ? load_pair(second + k) : (uint16_t)second[k];
        sum = __smlad((int16x2_t)a, ones, sum);
        next_sum = __smlad((int16x2_t)b, ones, next_sum);
        *words++ = a;
        *words++ = b;
    }
    out[0] = 0U - 128U * (uint32_t)sum;
    out[1] = 0U - 128U * (uint32_t)next_sum;
}

/* Words of a row, after -128 times its sum. */
static void pack_row(uint32_t *out, const int16_t *row, int32_t depth)
{
    const int16x2_t ones = 0x10001;
    int32_t sum = 0;
    uint32_t *words = out + 1;
    int32_t k = 0;
    for (; k + 8 <= depth; k += 8, words += 4) {
        uint32_t a = load_pair(row + k), b = load_pair(row + k + 2);
        uint32_t c = load_pair(row + k + 4), d = load_pair(row + k + 6);
        sum = __smlad((int16x2_t)a, ones, sum);
        sum = __smlad((int16x2_t)b, ones, sum);
        sum = __smlad((int16x2_t)c, ones, sum);
        sum = __smlad((int16x2_t)d, ones, sum);
        words[0] = a;
        words[1] = b;
        words[2] = c;
        words[3] = d;
    }
    for (; k < depth; k += 2) {
        uint32_t word = k + 1 < depth ? load_pair(row + k) : (uint16_t)row[k];
        sum = __smlad((int16x2_t)word, ones, sum);
        *words++ = word;
    }
    *out = 0U - 128U * (uint32_t)sum;
}

/* Outputs within other bounds than those of int16, in place. */
static void clamp(const struct cm_short_range *range, int16_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        out[i] = (int16_t)cm_clamp(out[i], range->minimum, range->maximum);
}

/* All columns of a row or two in the workspace. */
static void multiply(struct strip *strip, strip_function *run, const struct cm_gemm *gemm, int32_t words)
{
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t);
    const int32_t whole = columns / COLUMNS, rest = columns % COLUMNS, stride = strip->out_stride;
    const size_t block =
        sizeof(struct starts) + (size_t)words * COLUMNS * sizeof(int16_t) + sizeof(struct rescale);
    const uint8_t *const weights = (const uint8_t *)gemm->weights + sizeof(struct cm_short_range);
    const uint8_t *const last = weights + (size_t)whole * block;
    const int32_t is_pair = run == cm_dsp_multiply_short;
    int16_t *first = (int16_t *)(void *)gemm->out;
    int16_t *second = (int16_t *)(void *)(gemm->out + is_pair * stride);
    if (whole > 0) {
        strip->out = first;
        strip->weights = weights;
        strip->weights_end = last;
        run(strip);
    }
    if (rest > 0) {
        int16_t results[ROWS][COLUMNS];
        strip->out = results[0];
        if (is_pair != 0)
            strip->out_stride = sizeof results[0];
        strip->weights = last;
        strip->weights_end = last + block;
        run(strip);
        memcpy(first + whole * COLUMNS, results[0], (size_t)rest * sizeof *first);
        if (is_pair != 0)
            memcpy(second + whole * COLUMNS, results[1], (size_t)rest * sizeof *second);
    }
}

static void multiply_pair(const struct cm_gemm *gemm, int32_t depth, bool is_rectified)
{
    const int32_t words = (depth + 1) / 2;
    uint32_t *workspace = gemm->workspace;
    struct strip strip = {
        .rows = workspace,
        .rows_end = (uintptr_t)(workspace + ROWS + ROWS * words),
        .entry = (-words & (TURN - 1)) * CODE,
        .out_stride = gemm->out_stride,
        .is_rectified = is_rectified,
    };
    const int8_t *next = gemm->lhs + gemm->lhs_stride;
    pack_rows(workspace, (const int16_t *)(const void *)gemm->lhs, (const int16_t *)(const void *)next,
              depth);
    multiply(&strip, cm_dsp_multiply_short, gemm, words);
}

static void multiply_row(const struct cm_gemm *gemm, int32_t depth, bool is_rectified)
{
    const int32_t words = (depth + 1) / 2, twos = words / 2, turn = TURN / 2;
    uint32_t *workspace = gemm->workspace;
    struct strip strip = {
        .rows = workspace,
        .rows_end = (uintptr_t)(workspace + 1 + words),
        .entry = (twos > 0 ? -twos & (turn - 1) : turn) * ROW_CODE,
        .out_stride = words & 1,
        .is_rectified = is_rectified,
    };
    pack_row(workspace, (const int16_t *)(const void *)gemm->lhs, depth);
    multiply(&strip, cm_dsp_multiply_short_row, gemm, words);
}

void cm_isa_gemm_s16(const struct cm_gemm *gemm)
{
    const int32_t depth = gemm->depth / (int32_t)sizeof(int16_t);
    const int32_t columns = gemm->columns / (int32_t)sizeof(int16_t);
    const struct cm_short_range *range = gemm->weights;
    const bool is_rectified = range->minimum == 0;
    const bool is_clamped = (range->minimum != INT16_MIN && !is_rectified) || range->maximum != INT16_MAX;
    struct cm_gemm left = *gemm;
    for (; left.rows > 1; left.rows -= ROWS) {
        multiply_pair(&left, depth, is_rectified);
        left.lhs += ROWS * left.lhs_stride;
        left.out += ROWS * left.out_stride;
    }
    if (left.rows > 0)
        multiply_row(&left, depth, is_rectified);
    for (int32_t row = 0; is_clamped && row < gemm->rows; ++row)
        clamp(range, (int16_t *)(void *)(gemm->out + row * gemm->out_stride), columns);
}
