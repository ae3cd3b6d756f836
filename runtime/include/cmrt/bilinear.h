/* Bilinear interpolation of int8 images, a row of outputs at a time; docs/exactness.md has the arithmetic. */
#ifndef CMRT_BILINEAR_H
#define CMRT_BILINEAR_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* Two inputs along one axis, and the weight of the high one with 15 fractional bits. */
struct cm_blend {
    int32_t low, high, weight;
};

enum { CM_BILINEAR_FRACTION = 7, CM_BILINEAR_WEIGHT = 15 };

struct cm_bilinear_row {
    const int8_t *low, *high; /* input rows; up to 15 bytes after them may be read */
    int32_t weight;
    int32_t count;    /* elements of an input row */
    int16_t *blended; /* the two as one row with 7 fractional bits; room for 8 elements after it */
    const struct cm_blend *columns;
    int32_t width, channels; /* of the output */
    int8_t *out;
};

CM_MICROKERNEL void cm_isa_bilinear_row_s8(const struct cm_bilinear_row *row);

#endif
