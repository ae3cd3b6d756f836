/* Softmax of one row of int8 numbers, and the reciprocal it needs; see compiler/cmcompiler/ops/softmax.py. */
#ifndef CMRT_SOFTMAX_H
#define CMRT_SOFTMAX_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* `exponentials` of distances 0, 1, … 255 from the row's maximum, of 31 fractional bits. `out` may be `in`,
 * and has steps of 2^-(8 + finer_bits). */
CM_MICROKERNEL void cm_isa_softmax_s8(const int8_t *in, const int32_t *exponentials, int8_t *out,
                                      int32_t length, int32_t finer_bits);

/* Integer bits of the sum of exponentials. */
#define CM_SOFTMAX_SUM_BITS 12

/* The sum from which on all probabilities round to 0. */
static inline uint32_t cm_softmax_largest_sum(int32_t finer_bits)
{
    return finer_bits < 3 ? UINT32_C(1) << (28 + finer_bits) : UINT32_C(1) << 31;
}

/* A probability is exponential * multiplier * 2^-31 * 2^-shift, each rounded, halves up. */
struct cm_softmax_scale {
    int32_t multiplier, shift;
};

/* For a sum in (0, cm_softmax_largest_sum(finer_bits)). */
struct cm_softmax_scale cm_softmax_scale(uint32_t sum, int32_t finer_bits);

#endif
