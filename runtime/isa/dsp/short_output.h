/* Sums that become outputs by two multiplications and saturation: see four_by_two.h. */
#ifndef SHORT_OUTPUT_H
#define SHORT_OUTPUT_H

#include "simd.h"

struct rescale {
    int32_t multiplier, factor, zero_point;
};

/* For sums up to 2^30, multipliers from 2^30, shifts of at least two to the right. */
static inline struct rescale short_rescale(int32_t multiplier, int32_t shift, int32_t zero_point)
{
    const int32_t factor = (int32_t)(UINT32_C(1) << (32 + shift));
    return (struct rescale){(int32_t)(2 * (uint32_t)multiplier), factor, zero_point};
}

static inline int8_t short_output(struct rescale rescale, int32_t sum)
{
    int32_t scaled = add_high_product(sum, rescale.multiplier, sum);
    return saturate_s8(add_high_product(scaled + (scaled >> 31), rescale.factor, rescale.zero_point));
}

#endif
