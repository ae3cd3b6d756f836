/* Means of int8 numbers. */
#ifndef CMRT_DIVISION_H
#define CMRT_DIVISION_H

#include <stdint.h>

/* Division by a number of elements. */
struct cm_mean {
    uint32_t count;
    uint32_t reciprocal; /* 16 bits, or 0 if the count is too large for it */
};

static inline struct cm_mean cm_mean_over(uint32_t count)
{
    return (struct cm_mean){count, count <= 256 ? 0x10000 / count : 0};
}

/* sum / count, halves away from zero. With the reciprocal, |sum| + count / 2 < 2^16, and the product falls
   short of the quotient by less than one. */
static inline int8_t cm_mean_of(const struct cm_mean *mean, int32_t sum)
{
    uint32_t value = (uint32_t)(sum < 0 ? -sum : sum) + mean->count / 2;
    uint32_t quotient = value * mean->reciprocal >> 16;
    if (mean->reciprocal == 0)
        quotient = value / mean->count;
    else if (value - quotient * mean->count >= mean->count)
        ++quotient;
    return (int8_t)(sum < 0 ? -(int32_t)quotient : (int32_t)quotient);
}

#endif
