/* Softmax of one row of int8 numbers, and the reciprocal it needs; see compiler/cmcompiler/ops/softmax.py. */
#ifndef CMRT_SOFTMAX_H
#define CMRT_SOFTMAX_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* `exponentials` of distances 0, 1, … 255 from the row's maximum, of 31 fractional bits. `out` may be `in`.
 */
CM_MICROKERNEL void cm_isa_softmax_s8(const int8_t *in, const int32_t *exponentials, int8_t *out,
                                      int32_t length);

/* Integer bits of the sum of exponentials, and the sum from which on all probabilities round to 0. */
#define CM_SOFTMAX_SUM_BITS 12
#define CM_SOFTMAX_LARGEST_SUM (1 << 28)

/* A probability is exponential * multiplier * 2^-31 * 2^-shift, each rounded, halves up. */
struct cm_softmax_scale {
    int32_t multiplier, shift;
};

/* For a sum in (0, CM_SOFTMAX_LARGEST_SUM). */
struct cm_softmax_scale cm_softmax_scale(int32_t sum);

#endif
