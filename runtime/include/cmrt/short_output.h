/* From sums to int16: requantize_s64 of CMSIS-NN; see compiler/cmcompiler/ops/support/requantize16.py. */
#ifndef CMRT_SHORT_OUTPUT_H
#define CMRT_SHORT_OUTPUT_H

#include "cmrt/arithmetic.h"

#include <stdint.h>

/* The head of the weights of a product whose outputs are int16. */
struct cm_short_range {
    int32_t minimum, maximum;
    int32_t is_long; /* multipliers have 15 bits, not 31 */
    int32_t unused;
};

/* sum * multiplier * 2^(-16 - places), rounded down, for multipliers of 15 bits and 1 to 29 places. */
static inline int32_t cm_scale_down(int32_t sum, int32_t multiplier, int32_t places)
{
    int32_t low = (int32_t)((uint32_t)(sum & 0xffff) * (uint32_t)multiplier >> 16);
    return ((sum >> 16) * multiplier + low) >> places;
}

/* The half of that, halves up. */
static inline int32_t cm_scale_places(int32_t sum, int32_t multiplier, int32_t places)
{
    return (cm_scale_down(sum, multiplier, places) + 1) >> 1;
}

/* The same for shifts of 3 to 31 to the right, as they come with multipliers of 31 bits. */
static inline int32_t cm_scale_short(int32_t sum, int32_t multiplier, int32_t shift)
{
    return cm_scale_places(sum, multiplier, -shift - 2);
}

/* The same for sums of 47 bits and shifts from 31 to the right to 7 to the left, saturated. */
static inline int32_t cm_scale_long(int64_t sum, int32_t multiplier, int32_t shift)
{
    int64_t scaled = ((sum * multiplier >> (14 - shift)) + 1) >> 1;
    return scaled < INT32_MIN ? INT32_MIN : scaled > INT32_MAX ? INT32_MAX : (int32_t)scaled;
}

#endif
