/* int8 rows by a matrix of weights with the DSP extension: four rows by two columns at a time.

   SMLAD multiplies two pairs of 16 bits. Rows are widened once, four at a time. Eight accumulators, two words
   of weights, two rows and two pointers fill the fourteen registers: hence assembly. What includes it defines
   the loops. docs/performance.md has the cycles. */
#ifndef FOUR_BY_TWO_H
#define FOUR_BY_TWO_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"
#include "simd.h"

enum { ROWS = 4, DEPTHS = 4 };

/* Of both columns, after their weights; their biases precede these. Unless the rounding is general,
   multiplier and factor are 2 * multiplier - 2^32 and 2^(32 - shift to the right). */
struct rescale {
    int32_t multiplier, factor;
};

/* Operands of the assembly: two or four rows and some pairs of columns. */
struct strip {
    const uint32_t *row, *row_end; /* widened: depths 0 and 2 of each row, then 1 and 3 */
    int32_t entry;                 /* entry point, in bytes from the loop's start */
    const void *weights_end;
    void *out; /* or the sums if C rescales them */
    int32_t out_stride, zero_point;
    const void *weights;
};

/* clang-format off */
#define ADD_PRODUCT(sum, row, weights) "smlad " sum ", " row ", " weights ", " sum "\n"

/* The first two depths, of weights in r8 and r9: rows are loaded where their sums will be, and each
   column's bias, in r0 or r4, becomes its first sum last. */
#if __ARM_ARCH_7EM__ && __ARM_FP & 8
#define START_SUMS(WIDEN) \
    WIDEN \
    "ldr r1, [lr, #4]\n" \
    "ldr r2, [lr, #8]\n" \
    "smlad r5, r1, r9, r4\n" \
    "ldr r3, [lr, #12]\n" \
    "smlad r1, r1, r8, r0\n" \
    "ldr r10, [lr], #16\n" \
    "smlad r6, r2, r9, r4\n" "smlad r2, r2, r8, r0\n" \
    "smlad r7, r3, r9, r4\n" "smlad r3, r3, r8, r0\n" \
    "smlad r4, r10, r9, r4\n" "smlad r0, r10, r8, r0\n"
#else
#define START_SUMS(WIDEN) \
    "ldr r1, [lr, #4]\n" \
    "ldr r2, [lr, #8]\n" \
    "ldr r3, [lr, #12]\n" \
    "ldr r10, [lr], #16\n" \
    WIDEN \
    "smlad r5, r1, r9, r4\n" "smlad r1, r1, r8, r0\n" \
    "smlad r6, r2, r9, r4\n" "smlad r2, r2, r8, r0\n" \
    "smlad r7, r3, r9, r4\n" "smlad r3, r3, r8, r0\n" \
    "smlad r4, r10, r9, r4\n" "smlad r0, r10, r8, r0\n"
#endif

#define START_PAIR \
    "ldr lr, [sp]\n" \
    "ldrd r0, r2, [r12], #8\n" \
    "mov.w r1, r0\n" \
    "mov.w r3, r2\n"

/* The first SMMLAR doubles and adds the sum because the multiplier is 2^32 too small; the second shifts right,
   rounds and adds the zero point. */
#define SCALE(sum, multiplier) "smmlar " sum ", " sum ", " multiplier ", " sum "\n"
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum, factor) "smmlar " sum ", " sum ", " factor ", r10\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"

/* A byte of each column, to the row at the address. */
#define STORE(column0, column1, address) \
    "bfi " column0 ", " column1 ", #8, #24\n" \
    "strh " column0 ", " address "\n"

#define LOAD_RESCALE \
    "ldr r10, [sp, #24]\n" \
    "ldm r12!, {r8, r9, r11, lr}\n"

#define SHIFT_FOUR \
    SHIFT("r1", "r9") SHIFT("r2", "r9") SATURATE("r0") SHIFT("r3", "r9") SATURATE("r1") \
    SHIFT("r4", "lr") SATURATE("r2") SHIFT("r5", "lr") SATURATE("r3") SHIFT("r6", "lr") SATURATE("r4") \
    SHIFT("r7", "lr") SATURATE("r5") \
    "ldrd r8, r9, [sp, #16]\n" \
    SATURATE("r6") SATURATE("r7") \
    "add r11, r8, #2\n" \
    "str r11, [sp, #16]\n" \
    STORE("r0", "r4", "[r8]") \
    "add r8, r9\n" \
    STORE("r1", "r5", "[r8]") \
    "add r8, r9\n" \
    STORE("r2", "r6", "[r8]") \
    "add r8, r9\n" \
    STORE("r3", "r7", "[r8]")

#define OUTPUT_FOUR \
    LOAD_RESCALE \
    SCALE("r0", "r8") SCALE("r1", "r8") AWAY_FROM_ZERO("r0") SCALE("r2", "r8") AWAY_FROM_ZERO("r1") \
    SCALE("r3", "r8") AWAY_FROM_ZERO("r2") SCALE("r4", "r11") AWAY_FROM_ZERO("r3") \
    SCALE("r5", "r11") AWAY_FROM_ZERO("r4") SCALE("r6", "r11") AWAY_FROM_ZERO("r5") \
    SCALE("r7", "r11") AWAY_FROM_ZERO("r6") SHIFT("r0", "r9") AWAY_FROM_ZERO("r7") \
    SHIFT_FOUR

/* Where negative results are clamped to the zero point, whichever way their halves are rounded. */
#define OUTPUT_FOUR_HALF_UP \
    LOAD_RESCALE \
    SCALE("r0", "r8") SCALE("r1", "r8") SCALE("r2", "r8") SCALE("r3", "r8") \
    SCALE("r4", "r11") SCALE("r5", "r11") SCALE("r6", "r11") SCALE("r7", "r11") \
    SHIFT("r0", "r9") SHIFT_FOUR

#define OUTPUT_PAIR \
    LOAD_RESCALE \
    SCALE("r0", "r8") SCALE("r1", "r8") SCALE("r2", "r11") SCALE("r3", "r11") \
    AWAY_FROM_ZERO("r0") AWAY_FROM_ZERO("r1") AWAY_FROM_ZERO("r2") AWAY_FROM_ZERO("r3") \
    SHIFT("r0", "r9") SHIFT("r1", "r9") SHIFT("r2", "lr") SHIFT("r3", "lr") \
    "ldrd r8, r9, [sp, #16]\n" \
    SATURATE("r0") SATURATE("r1") SATURATE("r2") SATURATE("r3") \
    "add r11, r8, #2\n" \
    "str r11, [sp, #16]\n" \
    STORE("r0", "r2", "[r8]") \
    "add r8, r9\n" \
    STORE("r1", "r3", "[r8]")

/* Leaves the sums and the rescaling to C. */
#define STORE_SUMS \
    "ldr r8, [sp, #16]\n" \
    "stm r8!, {r0-r3}\n" \
    "str r8, [sp, #16]\n" \
    "add r12, #16\n"

/* START points lr to the rows and may make the products of the first depths. */
#define STRIP_FUNCTION(name, START, MULTIPLY, OUTPUT) \
    void name(const struct strip *strip); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "sub sp, #28\n" \
          "ldm r0!, {r1-r7}\n" \
          "ldr r12, [r0]\n" \
          "adr.w r8, 2f\n" \
          "add r3, r8\n" \
          "add r3, #1\n" /* Thumb */ \
          "stm sp, {r1-r7}\n" \
          \
          ".p2align 2\n" \
          "1:\n" \
          START \
          "ldr pc, [sp, #8]\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY \
          "ldr r11, [sp, #4]\n" \
          "cmp lr, r11\n" \
          "bne.w 2b\n" \
          OUTPUT \
          "ldr r8, [sp, #12]\n" \
          "cmp r12, r8\n" \
          "bne.w 1b\n" \
          "add sp, #28\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

/* clang-format on */

typedef void strip_function(const struct strip *strip);

/* The loops for one type of weights.

   sum_pair: those of outputs that the assembly does not support, which have no others.
   turn: times four depths in a loop; code: bytes of code for these. */
struct loops {
    strip_function *four, *four_half_up, *pair, *sum_pair;
    int32_t weight_bytes, four_turn, four_code, pair_turn, pair_code;
};

/* What all rows of a product share. */
struct shape {
    const int8_t *weights_end; /* of all pairs of columns */
    int32_t chunks, block_bytes;
};

static inline struct shape shape_of(const struct cm_gemm *gemm, int32_t weight_bytes)
{
    struct shape shape = {.chunks = gemm->depth > 0 ? (gemm->depth + DEPTHS - 1) / DEPTHS : 1};
    shape.block_bytes = 2 * (int32_t)sizeof(int32_t) + shape.chunks * 2 * DEPTHS * weight_bytes +
                        2 * (int32_t)sizeof(struct rescale);
    shape.weights_end = (const int8_t *)gemm->weights + gemm->columns / 2 * shape.block_bytes;
    return shape;
}

static inline void widen_pair(uint32_t *out, const int8_t *row, int32_t stride, int32_t depth)
{
    for (int32_t k = 0; k < depth; k += DEPTHS, row += DEPTHS) {
        uint32_t word0 = load_bytes(row), word1 = load_bytes(row + stride);
        *out++ = widen_even(word0);
        *out++ = widen_even(word1);
        *out++ = widen_odd(word0);
        *out++ = widen_odd(word1);
    }
}

static inline void widen_four(uint32_t *out, const int8_t *row, int32_t stride, int32_t depth)
{
    const int8_t *row1 = row + stride, *row2 = row1 + stride, *row3 = row2 + stride;
    for (const int8_t *end = row + depth; row < end; out += 2 * ROWS) {
        uint32_t word0 = load_bytes(row), word1 = load_bytes(row1);
        uint32_t word2 = load_bytes(row2), word3 = load_bytes(row3);
        row += DEPTHS, row1 += DEPTHS, row2 += DEPTHS, row3 += DEPTHS;
        out[0] = widen_even(word0);
        out[1] = widen_even(word1);
        out[2] = widen_even(word2);
        out[3] = widen_even(word3);
        out[4] = widen_odd(word0);
        out[5] = widen_odd(word1);
        out[6] = widen_odd(word2);
        out[7] = widen_odd(word3);
    }
}

/* All columns of some rows. */
static inline void multiply(const struct cm_gemm *gemm, const struct shape *shape, strip_function *run,
                            struct strip *strip, int8_t *out, int32_t out_stride, int32_t count)
{
    strip->weights = gemm->weights;
    strip->weights_end = shape->weights_end;
    strip->out = out;
    strip->out_stride = out_stride;
    if (gemm->columns > 1)
        run(strip);
    if (gemm->columns % 2 == 0)
        return;
    int8_t last[2 * ROWS];
    strip->weights = shape->weights_end;
    strip->weights_end = shape->weights_end + shape->block_bytes;
    strip->out = last;
    strip->out_stride = 2;
    run(strip);
    out += gemm->columns - 1;
    for (int32_t r = 0; r < count; ++r)
        out[r * out_stride] = last[2 * r];
}

/* For outputs that the assembly does not support: two rows. */
static inline void multiply_general(const struct cm_gemm *gemm, const struct shape *shape,
                                    strip_function *sum_pair, struct strip *strip, int8_t *out,
                                    int32_t out_stride)
{
    const int8_t *weights = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += 2, weights += shape->block_bytes) {
        int32_t sums[4];
        strip->weights = weights;
        strip->weights_end = weights + shape->block_bytes;
        strip->out = sums;
        sum_pair(strip);
        const struct rescale *rescale = (const struct rescale *)strip->weights_end - 2;
        for (int32_t i = 0; i < 2 && c + i < gemm->columns; ++i)
            for (int32_t r = 0; r < 2; ++r)
                out[r * out_stride + c + i] =
                    cm_output_s8(&gemm->output, sums[2 * i + r], rescale[i].multiplier, rescale[i].factor);
    }
}

/* Rows in fours, then in pairs; a single one is computed twice. */
static inline void multiply_rows(const struct cm_gemm *gemm, const struct loops *loops)
{
    const int8_t *lhs = gemm->lhs;
    int8_t *out = gemm->out;
    int32_t is_general = loops->sum_pair != NULL;
    strip_function *four = gemm->output.rounding == CM_ROUND_HALF_UP ? loops->four_half_up : loops->four;
    struct shape shape = shape_of(gemm, loops->weight_bytes);
    struct strip strip = {.row = gemm->workspace, .zero_point = gemm->output.zero_point};
    for (int32_t left = gemm->rows, count; left > 0; left -= count) {
        count = left >= ROWS && !is_general ? ROWS : 2;
        int32_t lhs_stride = left > 1 ? gemm->lhs_stride : 0, out_stride = left > 1 ? gemm->out_stride : 0;
        strip.row_end = strip.row + shape.chunks * count * (DEPTHS / 2);
        if (count == ROWS) {
            int32_t left_chunks = shape.chunks - 1; /* after the first one */
            int32_t skipped = left_chunks > 0 ? -left_chunks & (loops->four_turn - 1) : loops->four_turn;
            strip.entry = skipped * loops->four_code;
            widen_four(gemm->workspace, lhs, lhs_stride, gemm->depth);
        } else {
            strip.entry = (-shape.chunks & (loops->pair_turn - 1)) * loops->pair_code;
            widen_pair(gemm->workspace, lhs, lhs_stride, gemm->depth);
        }
        if (is_general)
            multiply_general(gemm, &shape, loops->sum_pair, &strip, out, out_stride);
        else
            multiply(gemm, &shape, count == ROWS ? four : loops->pair, &strip, out, out_stride, count);
        lhs += count * lhs_stride;
        out += count * out_stride;
    }
}

#endif
