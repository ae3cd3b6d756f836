/* Weights of four bits plus 7, each with a factor: words of two columns whose bytes alternate, as they are
   for products with the DSP extension.

   Four products of a byte each fit a word, as factors are at most 18. */
#ifndef UNPACK_GROUPS_H
#define UNPACK_GROUPS_H

#include "cmrt/nibbles.h"

#include <stdint.h>

/* The factors of a word's columns. */
struct lanes {
    uint32_t even, odd, start;
};

static inline struct lanes lanes_of(uint32_t even, uint32_t odd)
{
    return (struct lanes){even, odd << 8,
                          UINT32_C(0x80808080) - 7 * UINT32_C(0x00010001) * (even | odd << 8)};
}

/* Plus 128 each. */
static inline uint32_t unpack_word(uint32_t halves, const struct lanes *lanes)
{
    const uint32_t even = (halves & UINT32_C(0x000f000f)) * lanes->even;
    const uint32_t odd = (halves >> 8 & UINT32_C(0x000f000f)) * lanes->odd;
    return even + odd + lanes->start;
}

/* Makes words of pairs of those of bytes. */
typedef uint32_t pair_bytes(uint32_t bytes);

/* A word is the low halves of four bytes, the next one the high ones; of blocks of four columns, they are of
   two pairs. first: of a pair's columns, in even bytes. */
static inline __attribute__((always_inline)) void unpack_pairs(const struct cm_nibbles *sizes, int8_t *out,
                                                               const uint8_t *factors, const uint8_t *in,
                                                               int32_t first, pair_bytes *pair)
{
    uint32_t *to = (uint32_t *)(void *)out;
    const uint32_t *from = (const uint32_t *)(const void *)in;
    const int32_t columns = sizes->block;
    for (int32_t left = sizes->weights; left > 0; left -= sizes->group, factors += columns) {
        const struct lanes low = lanes_of(factors[first], factors[1 - first]);
        const struct lanes high = lanes_of(factors[columns - 2 + first], factors[columns - 1 - first]);
        for (int32_t words = (left < sizes->group ? left : sizes->group) / 8; words > 0; --words) {
            const uint32_t both = *from++;
            *to++ = pair(unpack_word(both, &low));
            *to++ = pair(unpack_word(both >> 4, &high));
        }
    }
}

#endif
