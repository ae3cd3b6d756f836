/* Functions of int16 numbers by tables of 513 entries; see compiler/cmcompiler/ops/short_softmax.py. */
#ifndef CMRT_INTERPOLATION_H
#define CMRT_INTERPOLATION_H

#include <stdint.h>

static inline int32_t cm_interpolated(const int16_t *table, int32_t x)
{
    const int16_t *entry = table + 256 + (x >> 7);
    return entry[0] + (((entry[1] - entry[0]) * (x & 127) + 64) >> 7);
}

#endif
