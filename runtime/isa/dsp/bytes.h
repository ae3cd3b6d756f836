/* Four bytes at a time, of operands that move by 0 or 1 from element to element. */
#ifndef BYTES_H
#define BYTES_H

#include "simd.h"

static const uint32_t ONES = 0x01010101;

/* The next `count` elements, up to four; those after them are 0. */
static inline uint32_t take_bytes(const uint8_t **bytes, int32_t step, int32_t count)
{
    uint32_t word = 0;
    if (step == 0)
        return **bytes * ONES;
    if (count >= 4)
        memcpy(&word, *bytes, 4);
    else
        memcpy(&word, *bytes, (size_t)count);
    *bytes += 4;
    return word;
}

static inline void put_bytes(uint8_t *out, uint32_t word, int32_t count)
{
    if (count >= 4)
        memcpy(out, &word, 4);
    else
        memcpy(out, &word, (size_t)count);
}

/* Bytes of ones where that of x, unsigned, is not smaller than y's. */
static inline uint32_t not_below(uint32_t x, uint32_t y)
{
    (void)__usub8((uint8x4_t)x, (uint8x4_t)y);
    return (uint32_t)__sel((uint8x4_t)UINT32_MAX, (uint8x4_t)0u);
}

#endif
