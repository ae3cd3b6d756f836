/* Norms of int8 numbers with integer statistics; see compiler/cmcompiler/ops/norm.py. */
#ifndef CMRT_NORM_H
#define CMRT_NORM_H

#include <stdint.h>

#include "cmrt/arithmetic.h"
#include "cmrt/microkernel.h"

/* Channels next to each other in some pixels, which lie `step` bytes apart. */
struct cm_norm_group {
    int32_t channels, pixels, step;
};

/* Adds the elements of a group to a sum, and their squares to another. */
CM_MICROKERNEL void cm_isa_moments_s8(const int8_t *in, const struct cm_norm_group *group, int32_t *sum,
                                      int32_t *squares);

/* How a group is normalised: (factor * x - offset) * inverse * 2^-31, times multiplier * 2^-31, plus bias,
   times 2^-shift, plus the zero point; each rounded, halves up. */
struct cm_norm {
    int32_t factor, offset, inverse;
    int32_t shift, zero_point;
};

/* A group whose channels have a multiplier and bias each. `out` may be `in`. The difference of factor * x and
   offset fits 32 bits, its terms may not. */
CM_MICROKERNEL void cm_isa_norm_s8(const struct cm_norm *norm, const struct cm_norm_group *group,
                                   const int8_t *in, const int32_t *multipliers, const int32_t *biases,
                                   int8_t *out);

/* 1 / sqrt(x) as mantissa * 2^-(31 + exponent); x in [1, 2^62). */
struct cm_inverse_root {
    int32_t mantissa, exponent;
};
struct cm_inverse_root cm_inverse_square_root(uint64_t x);

/* x, or its root, times multiplier * 2^(shift - 31), halves up; `most` for what has more than 31 bits. */
static inline int32_t cm_scaled_spread(uint64_t x, int32_t is_root, int32_t multiplier, int32_t shift,
                                       int32_t most)
{
    if (x == 0)
        return 0;
    int32_t exponent = 33 - __builtin_clzll(x);
    int32_t mantissa = (int32_t)(exponent >= 0 ? x >> exponent : x << -exponent);
    if (is_root) {
        struct cm_inverse_root root = cm_inverse_square_root(x);
        mantissa = cm_doubling_high_multiply(mantissa, root.mantissa);
        exponent -= root.exponent;
    }
    int32_t product = cm_doubling_high_multiply(mantissa, multiplier), right = -exponent - shift;
    if (right > 31 || product == 0)
        return 0;
    if (right <= 0)
        return most;
    return (int32_t)(((uint32_t)product + (UINT32_C(1) << (right - 1))) >> right);
}

#endif
