/* Norms of int8 numbers with integer statistics; see compiler/cmcompiler/ops/norm.py. */
#ifndef CMRT_NORM_H
#define CMRT_NORM_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* Adds `count` elements to a sum, and their squares to another. */
CM_MICROKERNEL void cm_isa_moments_s8(const int8_t *in, int32_t count, int32_t *sum, int32_t *squares);

/* How a group is normalised: (factor * x - offset) * inverse * 2^-31, times multiplier * 2^-31, plus bias,
   times 2^-shift, plus the zero point; each rounded, halves up. */
struct cm_norm {
    int32_t factor, offset, inverse;
    int32_t shift, zero_point;
};

/* `count` elements with a multiplier and bias each. `out` may be `in`. The difference of factor * x and
   offset fits 32 bits, its terms may not. */
CM_MICROKERNEL void cm_isa_norm_s8(const struct cm_norm *norm, const int8_t *in, const int32_t *multipliers,
                                   const int32_t *biases, int8_t *out, int32_t count);

/* 1 / sqrt(x) as mantissa * 2^-(31 + exponent); x in [1, 2^62). */
struct cm_inverse_root {
    int32_t mantissa, exponent;
};
struct cm_inverse_root cm_inverse_square_root(uint64_t x);

#endif
