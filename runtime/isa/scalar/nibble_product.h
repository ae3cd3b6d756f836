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
#include "turns.h"

#ifdef __thumb2__
#include "nibble_product_thumb2.h"
#else
#include "nibble_product_thumb1.h"
#endif

/* clang-format off */
#define NIBBLES_OF_TWO_ROWS(name) \
    __asm(TURNS_FUNCTION(name, NIBBLE_WORD, NIBBLE_WORD_CODE, "2", NIBBLE_ROWS_START NIBBLE_MASK, NIBBLE_ROWS_PART, NIBBLE_ROWS_AGAIN, \
          ""))
#define NIBBLES_OF_A_ROW(name) \
    __asm(TURNS_FUNCTION(name, NIBBLE_ROW_WORD, NIBBLE_ROW_WORD_CODE, "1", NIBBLE_ROW_START NIBBLE_MASK, NIBBLE_ROW_PART, "", \
          NIBBLE_ROW_FINISH))
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
