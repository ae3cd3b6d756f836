/* int8 rows by a matrix of weights with the DSP extension: four rows by two columns at a time.

   SMLAD multiplies two pairs of 16 bits. Rows are paired once, four at a time: 16 bits hold 256 times a
   number of one row plus 128 plus that of the other. Products of both and of the first row alone, which
   SXTB16 takes out, give those of the other one: (256 * x + y) * w - 256 * (x * w), exact modulo 2^32. So a
   word of workspace is two depths of two rows, and all that a step of the loop needs is loaded at once.

   Eight accumulators, two words of weights, two of rows and two pointers fill the fourteen registers: hence
   assembly. What includes it defines the loops. docs/performance.md has the cycles. */
#ifndef FOUR_BY_TWO_H
#define FOUR_BY_TWO_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"
#include "cortex_m7.h"
#include "simd.h"

#include <stdbool.h>

enum { ROWS = 4, FEWER_ROWS = 3, DEPTHS = 4 };

/* Times four depths in each loop, and bytes of code for these. */
enum { FOUR_TURN = 8, THREE_TURN = 4, ONE_TURN = 2, FOUR_CODE = 112, THREE_CODE = 88, ONE_CODE = 40 };
enum { FOUR_APART_CODE = 120, THREE_APART_CODE = 96, ONE_APART_CODE = 48 };

/* Of both columns, before their weights: what sums begin with. */
struct starts {
    int32_t at[4];
};

/* Of both columns, after their weights. Unless the rounding is general, multiplier and factor are
   2 * multiplier - 2^32 and 2^(32 - shift to the right). */
struct rescale {
    int32_t multiplier, factor;
};

/* Operands of the assembly: three or four rows and some pairs of columns. */
struct strip {
    const uint32_t *row;
    uintptr_t row_end; /* less one for the loop's other output */
    int32_t entry;     /* entry point, in bytes from the loop's start */
    const void *weights_end;
    void *out; /* or the sums if C rescales them */
    int32_t out_stride, zero_point;
    int32_t third; /* of three rows: from the second row of outputs to the third */
    const void *weights;
};

/* clang-format off */
#define ADD_PRODUCT(sum, row, weights) "smlad " sum ", " row ", " weights ", " sum "\n"

/* The first two depths of four rows: sums of both rows of a pair begin with r0 and r4, of one with r1 and r5.
   WIDEN makes the second column's weights. */
#define START_SUMS(WIDEN) \
    "smlad r2, r11, r8, r0\n" \
    WIDEN \
    "smlad r0, r10, r8, r0\n" \
    "smlad r6, r11, r9, r4\n" \
    "sxtb16 r11, r11, ror #8\n" \
    "smlad r4, r10, r9, r4\n" \
    "sxtb16 r10, r10, ror #8\n" \
    "smlad r7, r11, r9, r5\n" \
    "smlad r5, r10, r9, r5\n" \
    "smlad r3, r11, r8, r1\n" \
    "smlad r1, r10, r8, r1\n"

/* Sums of the other row of a pair. */
#define PART(paired, single) "sub " paired ", " paired ", " single ", lsl #8\n"

/* Where columns need not be parted. */
#define PART_ROWS PART("r0", "r1") PART("r2", "r3")

/* The first SMMLAR doubles and adds the sum because the multiplier is 2^32 too small; the second shifts right,
   rounds and adds the zero point. */
#define SCALE(sum, multiplier) "smmlar " sum ", " sum ", " multiplier ", " sum "\n"
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum, factor) "smmlar " sum ", " sum ", " factor ", r10\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"

/* A byte of each column, to the row at the address. */
#define JOIN(column0, column1) "bfi " column0 ", " column1 ", #8, #24\n"
#define STORE(column0, column1, address) \
    JOIN(column0, column1) \
    "strh " column0 ", " address "\n"

#define LOAD_RESCALE \
    "ldr r10, [sp, #24]\n" \
    "ldr r11, [r12, #8]\n" \
    "ldr lr, [r12, #12]\n" \
    "ldr r9, [r12, #4]\n" \
    "ldr r8, [r12], #16\n"

/* The next output of each row's first column. */
#define LOAD_OUT \
    "ldr r8, [sp, #16]\n" \
    "ldr r11, [sp, #12]\n" \
    "ldr r9, [sp, #20]\n"

/* Where outputs lie, and the end of the weights: beside products on a Cortex-M7; elsewhere loads overlap with each
   other and the store after them. */
#define LOAD_PLACES \
    "ldr r11, [sp, #12]\n" \
    "ldr r8, [sp, #16]\n"
#if IS_CORTEX_M7
#define LOAD_EARLY LOAD_PLACES
#define LOAD_LATE ""
#else
#define LOAD_EARLY ""
#define LOAD_LATE LOAD_PLACES
#endif

/* Where negative results are clamped to the zero point, whichever way their halves are rounded; or any. In an order
   that a Cortex-M7 issues in pairs: a multiplication beside what needs none, results two cycles before their use. */
#define OUTPUT_FOUR(PART_FIRST) \
    PART_FIRST \
    LOAD_RESCALE \
    "bhi.w 4f\n" \
    PART("r6", "r7") SCALE("r7", "r11") SCALE("r6", "r11") SCALE("r3", "r8") SCALE("r1", "r8") \
    PART("r4", "r5") SCALE("r2", "r8") SCALE("r5", "r11") SCALE("r0", "r8") SCALE("r4", "r11") \
    "3:\n" \
    SHIFT("r1", "r9") \
    LOAD_EARLY \
    SHIFT("r0", "r9") SATURATE("r1") SHIFT("r4", "lr") SATURATE("r0") SHIFT("r7", "lr") SATURATE("r4") \
    SHIFT("r6", "lr") SATURATE("r7") SHIFT("r5", "lr") JOIN("r0", "r4") SHIFT("r2", "r9") SATURATE("r5") \
    SHIFT("r3", "r9") \
    LOAD_LATE \
    "ldr r9, [sp, #20]\n" \
    "strh r0, [r8]\n" \
    SATURATE("r2") \
    "add lr, r8, #2\n" \
    SATURATE("r6") JOIN("r1", "r5") \
    "strh r1, [r8, r9]\n" \
    SATURATE("r3") \
    "add r8, r8, r9, lsl #1\n" \
    JOIN("r2", "r6") \
    "str lr, [sp, #16]\n" \
    JOIN("r3", "r7") \
    "strh r2, [r8]\n" \
    "strh r3, [r8, r9]\n" \
    NEXT \
    "4:\n" \
    SCALE("r1", "r8") SCALE("r3", "r8") AWAY_FROM_ZERO("r1") \
    PART("r4", "r5") SCALE("r5", "r11") AWAY_FROM_ZERO("r3") PART("r6", "r7") SCALE("r7", "r11") \
    AWAY_FROM_ZERO("r5") SCALE("r0", "r8") AWAY_FROM_ZERO("r7") SCALE("r2", "r8") AWAY_FROM_ZERO("r0") \
    SCALE("r4", "r11") AWAY_FROM_ZERO("r2") SCALE("r6", "r11") AWAY_FROM_ZERO("r4") AWAY_FROM_ZERO("r6") \
    "b.w 3b\n"

/* Any result; or the sums, whose rescaling is left to C. */
#define OUTPUT_THREE(PART_FIRST) \
    PART_FIRST \
    "bhi.w 4f\n" \
    LOAD_RESCALE \
    SCALE("r0", "r8") SCALE("r1", "r8") AWAY_FROM_ZERO("r0") SCALE("r2", "r8") AWAY_FROM_ZERO("r1") \
    SCALE("r3", "r11") AWAY_FROM_ZERO("r2") SCALE("r4", "r11") AWAY_FROM_ZERO("r3") SCALE("r5", "r11") \
    AWAY_FROM_ZERO("r4") SHIFT("r0", "r9") AWAY_FROM_ZERO("r5") SHIFT("r1", "r9") SHIFT("r2", "r9") \
    SHIFT("r3", "lr") SATURATE("r0") SHIFT("r4", "lr") SATURATE("r1") SHIFT("r5", "lr") SATURATE("r2") \
    LOAD_OUT \
    "ldr r10, [sp, #28]\n" \
    SATURATE("r3") SATURATE("r4") SATURATE("r5") \
    "add lr, r8, #2\n" \
    STORE("r0", "r3", "[r8]") \
    "str lr, [sp, #16]\n" \
    STORE("r1", "r4", "[r8, r9]") \
    "add r8, r9\n" \
    STORE("r2", "r5", "[r8, r10]") \
    NEXT \
    "4:\n" \
    "ldr r8, [sp, #16]\n" \
    "ldr r11, [sp, #12]\n" \
    "stm r8!, {r0-r5}\n" \
    "str r8, [sp, #16]\n" \
    "add r12, #16\n" \
    NEXT

/* The next pair of columns, if it is not at r11, the end. */
#define NEXT \
    "cmp.w r12, r11\n" \
    "bne.w 1b\n" \
    "add sp, #32\n" \
    "pop {r4-r11, pc}\n"

/* START points lr to the rows and may make the products of the first depths. */
#define STRIP_FUNCTION(name, START, MULTIPLY, OUTPUT) \
    void name(const struct strip *strip); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "sub sp, #32\n" \
          "ldm r0!, {r1-r8}\n" \
          "ldr r12, [r0]\n" \
          "adr.w r9, 2f\n" \
          "add r3, r9\n" \
          "add r3, #1\n" /* Thumb */ \
          "stm sp, {r1-r8}\n" \
          \
          ".p2align 2\n" \
          "1:\n" \
          START \
          "ldr pc, [sp, #8]\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY \
          "ldr r11, [sp, #4]\n" \
          "cmp.w lr, r11\n" \
          "blo.w 2b\n" \
          OUTPUT \
          CM_ASM_END)

/* Of three rows, whose sums begin with the same. */
#define START_THREE \
    "ldr lr, [sp]\n" \
    "ldr r0, [r12, #4]\n" \
    "ldr r3, [r12, #12]\n" \
    "add r12, #16\n" \
    PRELOAD_THREE \
    "mov r1, r0\n" \
    "mov r4, r3\n" \
    "mov r2, r0\n" \
    "mov r5, r3\n"

/* Four depths. */
#define MULTIPLY_FOUR MULTIPLY_TWO_DEPTHS MULTIPLY_TWO_DEPTHS
#define MULTIPLY_THREE MULTIPLY_TWO_DEPTHS_OF_THREE MULTIPLY_TWO_DEPTHS_OF_THREE
#define FOUR_TIMES(text) text text text text

/* Four depths of two rows as words of both: SEL takes bytes 0 and 2 from its first operand. */
#define PAIR_EVEN(row, AFTER_LOADS) \
    "ldr r11, [" row ", r2]\n" \
    "ldr r10, [" row "], #4\n" \
    AFTER_LOADS \
    "lsl r12, r11, #8\n" \
    "eor r10, #0x80808080\n" \
    "sel r12, r10, r12\n"

/* Pairs four rows. */
#define PAIR_FUNCTION(name) \
    __asm(".global " #name "\n" \
          CM_ASM_FUNCTION(name) \
          "push {r4, r10, r11, lr}\n" \
          "add r4, r1, r2, lsl #1\n" \
          "mov r12, #0x00ff00ff\n" \
          "uadd8 r12, r12, r12\n" /* bytes that carry are those that SEL takes */ \
          ".p2align 2\n" \
          "1:\n" \
          PAIR_EVEN("r1", "") \
          "lsr r10, r10, #8\n" \
          "str r12, [r0], #4\n" \
          "sel r10, r10, r11\n" \
          "str r10, [r0, #4]\n" \
          PAIR_EVEN("r4", "subs r3, #1\n") \
          "lsr r10, r10, #8\n" \
          "sel r10, r10, r11\n" \
          "str r12, [r0], #12\n" \
          "str r10, [r0, #-4]\n" \
          "bne 1b\n" \
          "pop {r4, r10, r11, pc}\n" \
          CM_ASM_END)

/* clang-format on */

typedef void strip_function(const struct strip *strip);
typedef void pair_function(uint32_t *out, const int8_t *row, int32_t stride, int32_t chunks);

pair_function cm_dsp_pair_four, cm_dsp_pair_four_w16;

/* The loops for one type of weights.

   weight_bytes: of four depths of both columns; turn: times four depths in a loop; code: bytes of code for
   these. */
struct loops {
    pair_function *pair;
    strip_function *four, *three, *one; /* one: NULL if threes take a row alone */
    int32_t weight_bytes, four_turn, four_code, three_turn, three_code, one_code;
};

/* What all rows of a product share. */
struct shape {
    const int8_t *weights_end; /* of all pairs of columns */
    int32_t chunks, block_bytes;
};

static inline struct shape shape_of(const struct cm_gemm *gemm, int32_t weight_bytes)
{
    struct shape shape = {.chunks = gemm->depth > 0 ? (gemm->depth + DEPTHS - 1) / DEPTHS : 1};
    shape.block_bytes =
        (int32_t)sizeof(struct starts) + shape.chunks * weight_bytes + 2 * (int32_t)sizeof(struct rescale);
    shape.weights_end = (const int8_t *)gemm->weights + gemm->columns / 2 * shape.block_bytes;
    return shape;
}

static inline void widen_three(uint32_t *out, const int8_t *row, const int8_t *row1, const int8_t *row2,
                               int32_t chunks)
{
    for (; chunks > 0; --chunks, out += 2 * FEWER_ROWS) {
        uint32_t word0 = load_bytes(row), word1 = load_bytes(row1), word2 = load_bytes(row2);
        row += DEPTHS, row1 += DEPTHS, row2 += DEPTHS;
        out[0] = widen_even(word0);
        out[1] = widen_even(word1);
        out[2] = widen_even(word2);
        out[3] = widen_odd(word0);
        out[4] = widen_odd(word1);
        out[5] = widen_odd(word2);
    }
}

/* The last one of an odd number of columns. */
static __attribute__((noinline)) void multiply_last(const struct cm_gemm *gemm, const struct shape *shape,
                                                    strip_function *run, struct strip strip, int32_t count)
{
    int8_t last[2 * ROWS], *out = (int8_t *)strip.out + gemm->columns - 1;
    const int32_t out_stride = strip.out_stride;
    strip.weights = shape->weights_end;
    strip.weights_end = shape->weights_end + shape->block_bytes;
    strip.out = last;
    strip.out_stride = strip.third = 2;
    run(&strip);
    for (int32_t r = 0; r < count; ++r)
        out[r * out_stride] = last[2 * r];
}

/* All columns of some rows. */
static inline void multiply(const struct cm_gemm *gemm, const struct shape *shape, strip_function *run,
                            const struct strip *strip, int32_t count)
{
    if (gemm->columns > 1)
        run(strip);
    if (gemm->columns % 2 != 0)
        multiply_last(gemm, shape, run, *strip, count);
}

/* The outputs of up to three rows, whose sums the assembly makes. */
static inline void rescale_three(const struct cm_gemm *gemm, const struct shape *shape,
                                 strip_function *sum_three, struct strip *strip, int8_t *out, int32_t count)
{
    const int8_t *weights = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += 2, weights += shape->block_bytes) {
        int32_t sums[2 * FEWER_ROWS];
        strip->weights = weights;
        strip->weights_end = weights + shape->block_bytes;
        strip->out = sums;
        sum_three(strip);
        const struct rescale *rescale = (const struct rescale *)strip->weights_end - 2;
        for (int32_t i = 0; i < 2 && c + i < gemm->columns; ++i)
            for (int32_t r = 0; r < count; ++r)
                out[r * gemm->out_stride + c + i] = cm_output_s8(&gemm->output, sums[FEWER_ROWS * i + r],
                                                                 rescale[i].multiplier, rescale[i].factor);
    }
}

/* Of up to three rows: the last one is computed as often as others lack. */
static inline void begin_three(const struct cm_gemm *gemm, const struct shape *shape,
                               const struct loops *loops, struct strip *strip, const int8_t *lhs,
                               int32_t count)
{
    const int8_t *row1 = lhs + (count > 1 ? gemm->lhs_stride : 0);
    const int8_t *row2 = row1 + (count > 2 ? gemm->lhs_stride : 0);
    uint32_t *rows = gemm->workspace;
    widen_three(rows, lhs, row1, row2, shape->chunks);
    strip->entry = (-shape->chunks & (loops->three_turn - 1)) * loops->three_code;
    strip->row_end = (uintptr_t)(rows + shape->chunks * 2 * FEWER_ROWS);
}

static inline void begin_one(const struct cm_gemm *gemm, const struct shape *shape, const struct loops *loops,
                             struct strip *strip, const int8_t *lhs)
{
    uint32_t *row = gemm->workspace;
    for (int32_t i = 0; i < shape->chunks; ++i, lhs += DEPTHS) {
        uint32_t word = load_bytes(lhs);
        *row++ = widen_even(word);
        *row++ = widen_odd(word);
    }
    strip->entry = (-shape->chunks & (ONE_TURN - 1)) * loops->one_code;
    strip->row_end = (uintptr_t)row;
}

/* Where the loop of four rows begins and ends. */
static inline void begin_four(const struct cm_gemm *gemm, const struct shape *shape,
                              const struct loops *loops, struct strip *strip)
{
    int32_t left = shape->chunks - 1; /* after the first one */
    int32_t skipped = left > 0 ? -left & (loops->four_turn - 1) : loops->four_turn;
    strip->entry = skipped * loops->four_code;
    strip->row_end = (uintptr_t)(strip->row + shape->chunks * ROWS);
    strip->row_end -= gemm->output.rounding != CM_ROUND_HALF_UP;
}

/* Rows, or four that are packed if there are none, in fours, and the last ones, up to nine, in threes if
 * their number is no multiple of four. Of one or five, the last one is taken alone. */
static inline void multiply_rows(const struct cm_gemm *gemm, const struct loops *loops)
{
    const int8_t *lhs = gemm->lhs;
    int8_t *out = gemm->out;
    const bool has_one = loops->one != NULL && (gemm->rows == 1 || gemm->rows == ROWS + 1);
    const int32_t threes = has_one ? 0 : -gemm->rows & (ROWS - 1), lhs_stride = gemm->lhs_stride;
    const int32_t out_stride = gemm->out_stride;
    struct shape shape = shape_of(gemm, loops->weight_bytes);
    struct strip strip = {
        .row = gemm->workspace,
        .zero_point = gemm->output.zero_point,
        .out_stride = out_stride,
        .weights = gemm->weights,
        .weights_end = shape.weights_end,
    };
    begin_four(gemm, &shape, loops, &strip);
    for (int32_t fours = (gemm->rows - FEWER_ROWS * threes) / ROWS; fours > 0; --fours) {
        if (lhs != NULL)
            loops->pair(gemm->workspace, lhs, lhs_stride, shape.chunks);
        strip.out = out;
        multiply(gemm, &shape, loops->four, &strip, ROWS);
        lhs += ROWS * lhs_stride;
        out += ROWS * out_stride;
    }
    const int32_t most = FEWER_ROWS * threes, last = gemm->rows < most ? gemm->rows : most;
    for (int32_t left = has_one ? 1 : last; left > 0; left -= FEWER_ROWS) {
        int32_t count = left < FEWER_ROWS ? left : FEWER_ROWS;
        if (has_one)
            begin_one(gemm, &shape, loops, &strip, lhs);
        else
            begin_three(gemm, &shape, loops, &strip, lhs, count);
        strip.out = out;
        strip.out_stride = count > 1 ? out_stride : 0;
        strip.third = count > 2 ? out_stride : 0;
        multiply(gemm, &shape, has_one ? loops->one : loops->three, &strip, count);
        lhs += FEWER_ROWS * lhs_stride;
        out += FEWER_ROWS * out_stride;
    }
}

/* For outputs that the assembly does not support: all rows in threes. */
static inline void multiply_general(const struct cm_gemm *gemm, const struct loops *loops)
{
    const int8_t *lhs = gemm->lhs;
    int8_t *out = gemm->out;
    struct shape shape = shape_of(gemm, loops->weight_bytes);
    struct strip strip = {.row = gemm->workspace, .zero_point = gemm->output.zero_point};
    for (int32_t left = gemm->rows; left > 0; left -= FEWER_ROWS) {
        int32_t count = left < FEWER_ROWS ? left : FEWER_ROWS;
        begin_three(gemm, &shape, loops, &strip, lhs, count);
        --strip.row_end;
        rescale_three(gemm, &shape, loops->three, &strip, out, count);
        lhs += FEWER_ROWS * gemm->lhs_stride;
        out += FEWER_ROWS * gemm->out_stride;
    }
}

#endif
