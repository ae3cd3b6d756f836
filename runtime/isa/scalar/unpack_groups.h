/* Weights of four bits plus 7, each with a factor: depths of four columns, as they are for products without
   SIMD.

   Products fit a byte, as factors are at most 18. */
#ifndef UNPACK_GROUPS_H
#define UNPACK_GROUPS_H

#include "cmrt/nibbles.h"

#include <stdint.h>

/* A word is two depths; bytes of the results are plus 128. */
static inline void unpack_groups(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                                 const uint8_t *in)
{
    const uint32_t lowest = UINT32_C(0x000f000f), low = 0xffff;
    uint32_t *to = (uint32_t *)(void *)out;
    const uint32_t *from = (const uint32_t *)(const void *)in;
    for (int32_t left = sizes->weights; left > 0; left -= sizes->group, factors += 4) {
        const uint32_t first = factors[0], second = (uint32_t)factors[1] << 8, third = factors[2];
        const uint32_t last = (uint32_t)factors[3] << 8;
        const uint32_t start = UINT32_C(0x80808080) - 7 * (first | second | (third | last) << 16);
        for (int32_t words = (left < sizes->group ? left : sizes->group) / 8; words > 0; --words) {
            const uint32_t both = *from++;
            const uint32_t begin = (both & lowest) * first + (both >> 4 & lowest) * second;
            const uint32_t end = (both >> 8 & lowest) * third + (both >> 12 & lowest) * last;
            *to++ = ((begin & low) | end << 16) + start;
            *to++ = (begin >> 16 | (end & ~low)) + start;
        }
    }
}

#endif
