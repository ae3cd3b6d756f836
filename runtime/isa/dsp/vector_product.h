/* What products of one int8 row with weights of either type share: outputs, and columns beyond a multiple of
   four. */
#ifndef VECTOR_PRODUCT_H
#define VECTOR_PRODUCT_H

#include "cmrt/isa.h"
#include "row_product.h"

#include <stdbool.h>
#include <string.h>

/* Of each column, after the weights of four; see gemm_s8.c. */
struct rescale {
    int32_t multiplier, factor;
};

/* clang-format off */
#define SCALE(sum, multiplier) "smmlar " sum ", " sum ", " multiplier ", " sum "\n"
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum, factor) "smmlar " sum ", " sum ", " factor ", r8\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"
/* In turns, since results take two cycles. Factors are r4 to r7. */
#define RESCALE_TWO(sum0, sum1) \
    SCALE(sum0, "r4") SCALE(sum1, "r6") AWAY_FROM_ZERO(sum0) AWAY_FROM_ZERO(sum1) \
    SHIFT(sum0, "r5") SHIFT(sum1, "r7") SATURATE(sum0) SATURATE(sum1)

/* Where the loop leaves r10 alone, which is the place of the outputs. */
#define OUTPUT_KEPT_COLUMNS \
    "ldr r8, [sp, #20]\n" \
    "ldm r12!, {r4-r7}\n" \
    RESCALE_TWO("r0", "r1") \
    "ldm r12!, {r4-r7}\n" \
    RESCALE_TWO("r2", "r3") \
    "strb r0, [r10], #4\n" \
    "strb r1, [r10, #-3]\n" \
    "strb r2, [r10, #-2]\n" \
    "strb r3, [r10, #-1]\n"
#define OUTPUT_COLUMNS \
    "ldr r10, [sp, #16]\n" \
    OUTPUT_KEPT_COLUMNS \
    "str r10, [sp, #16]\n"
/* clang-format on */

typedef void strip_function(const struct strip *strip);

/* The loop for one type of weights, and one that leaves its sums to C.

   weight_bytes: of four depths of four columns; paired: columns are; code: bytes of code
   for these where they are not. */
struct loop {
    strip_function *run;
    int32_t weight_bytes, code;
    bool paired;
};

/* All but columns and outputs. Up to three bytes after the row are read. */
static inline __attribute__((always_inline)) struct strip widened(const struct cm_gemm *gemm,
                                                                  const struct loop *loop)
{
    int32_t zero_point = gemm->output.zero_point;
    if (loop->paired)
        return paired_strip_of(gemm->workspace, gemm->lhs, gemm->depth, zero_point);
    uint32_t *words = gemm->workspace;
    for (int32_t k = 0; k < gemm->depth; k += DEPTHS)
        widen_four(words + k / 2, gemm->lhs + k);
    return strip_of(words, gemm->depth, zero_point, loop->code, TURN);
}

/* For outputs that the assembly does not support. */
static inline void multiply_general(const struct cm_gemm *gemm, const struct loop *sum)
{
    int32_t bytes = block_bytes(gemm->depth, sum->weight_bytes, sizeof(struct rescale));
    struct strip strip = widened(gemm, sum);
    const int8_t *weights = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS, weights += bytes) {
        int32_t sums[COLUMNS];
        strip.weights = weights;
        strip.weights_end = weights + bytes;
        strip.out = sums;
        sum->run(&strip);
        const struct rescale *rescale = (const struct rescale *)strip.weights_end - COLUMNS;
        for (int32_t i = 0; i < COLUMNS && c + i < gemm->columns; ++i)
            gemm->out[c + i] = cm_output_s8(&gemm->output, sums[i], rescale[i].multiplier, rescale[i].factor);
    }
}

static inline void multiply_row(const struct cm_gemm *gemm, const struct loop *loop)
{
    int32_t bytes = block_bytes(gemm->depth, loop->weight_bytes, sizeof(struct rescale));
    struct strip strip = widened(gemm, loop);
    int32_t whole = gemm->columns / COLUMNS, rest = gemm->columns % COLUMNS;
    const int8_t *last = (const int8_t *)gemm->weights + whole * bytes;
    if (whole > 0) {
        strip.weights = gemm->weights;
        strip.weights_end = last;
        strip.out = gemm->out;
        loop->run(&strip);
    }
    if (rest > 0) {
        int8_t four[COLUMNS];
        strip.weights = last;
        strip.weights_end = last + bytes;
        strip.out = four;
        loop->run(&strip);
        memcpy(gemm->out + whole * COLUMNS, four, (size_t)rest);
    }
}

#endif
