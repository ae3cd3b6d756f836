/* int8 rows by weights of four bits without SIMD, four columns at a time.

   Weights are plus 8, activations plus 128: their products have 12 bits, so those of 16 depths fit the halves
   of a word. A word of weights holds two depths of four columns; masked, two columns, one in each half: one
   multiplication makes two products, which are parted once in 16 depths. */
#ifndef NIBBLE_PRODUCT_H
#define NIBBLE_PRODUCT_H

#include "row_product.h"

#include <stdint.h>

/* Words of a column block's weights. */
static inline int32_t nibble_words(int32_t depth)
{
    return (depth + 1) / 2;
}

/* The sums of four columns: of two rows whose bytes alternate, or of one. words: at least one. */
typedef void nibble_function(uint32_t *sums, const uint8_t *rows, const uint32_t *weights, int32_t words);
nibble_function cm_scalar_multiply_nibbles, cm_scalar_multiply_nibbles_by_row;

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#include "cmrt/assembly.h"

#ifdef __thumb2__
#include "nibble_product_thumb2.h"
#else
#include "nibble_product_thumb1.h"
#endif

/* clang-format off */
/* A turn has eight words of weights, then parts the sums; if their number is no multiple of that, the first turn
   begins within. WORD: for one of them; code: bytes of its code; log: those of its activations, as a power of two. */
#define NIBBLE_FUNCTION(name, WORD, code, log, START, PART) \
    CM_ASM_FUNCTION(name) \
    NIBBLE_ENTER \
    START \
    "lsls r4, r3, #2\n" \
    "adds r4, r2, r4\n" \
    "mov r12, r4\n" \
    "rsbs r3, r3, #0\n" \
    "movs r4, #7\n" \
    "ands r3, r4\n" \
    "lsls r4, r3, #2\n" \
    "subs r2, r2, r4\n" \
    "lsls r4, r3, #" log "\n" \
    "subs r1, r1, r4\n" \
    "movs r4, #" code "\n" \
    "muls r3, r4, r3\n" \
    NIBBLE_MASK \
    "1:\n" \
    NIBBLE_CLEAR \
    ".p2align 2\n" \
    "add pc, r3\n" \
    "nop\n" \
    WORD("0") WORD("1") WORD("2") WORD("3") WORD("4") WORD("5") WORD("6") WORD("7") \
    "ldr r0, [sp]\n" \
    PART \
    "movs r3, #0\n" \
    "adds r1, #8<<" log "\n" \
    "adds r2, #32\n" \
    "cmp r2, r12\n" \
    "beq 2f\n" \
    NIBBLE_AGAIN \
    "2:\n" \
    NIBBLE_LEAVE \
    CM_ASM_END

#define NIBBLES_OF_TWO_ROWS(name) \
    __asm(NIBBLE_FUNCTION(name, NIBBLE_WORD, NIBBLE_WORD_CODE, "2", NIBBLE_START NIBBLE_START, \
          NIBBLE_PART(NIBBLE_SUM_0) NIBBLE_PART(NIBBLE_SUM_1) NIBBLE_PART(NIBBLE_SUM_2) NIBBLE_PART(NIBBLE_SUM_3)))
#define NIBBLES_OF_A_ROW(name) \
    __asm(NIBBLE_FUNCTION(name, NIBBLE_ROW_WORD, NIBBLE_ROW_WORD_CODE, "1", NIBBLE_START, \
          NIBBLE_PART(NIBBLE_SUM_0) NIBBLE_PART(NIBBLE_SUM_1)))
/* clang-format on */
#else
/* The same for `count` rows. */
static inline void add_nibbles(uint32_t *sums, const uint8_t *rows, const uint32_t *weights, int32_t words,
                               int32_t count)
{
    static const uint8_t places[2][COLUMNS] = {{0, 16, 4, 20}, {8, 24, 12, 28}};
    memset(sums, 0, (size_t)count * sizeof(struct sums));
    for (int32_t k = 0; k < 2 * words; ++k)
        for (int32_t r = 0; r < count; ++r, ++rows)
            for (int32_t i = 0; i < COLUMNS; ++i)
                sums[r * COLUMNS + i] += *rows * (weights[k / 2] >> places[k % 2][i] & 15);
}

#define NIBBLES_OF_ROWS(name, count)                                                                         \
    void name(uint32_t *sums, const uint8_t *rows, const uint32_t *weights, int32_t words)                   \
    {                                                                                                        \
        add_nibbles(sums, rows, weights, words, count);                                                      \
    }                                                                                                        \
    nibble_function name
#define NIBBLES_OF_TWO_ROWS(name) NIBBLES_OF_ROWS(name, 2)
#define NIBBLES_OF_A_ROW(name) NIBBLES_OF_ROWS(name, 1)
#endif

#endif
