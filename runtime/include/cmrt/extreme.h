/* Extremes of columns of int8 numbers; see compiler/cmcompiler/ops/extreme.py. */
#ifndef CMRT_EXTREME_H
#define CMRT_EXTREME_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* Takes `count` rows of `length` elements, one after the other, into the extremes so far: the largest of each
   column where `flip` is 0, the smallest where it is -1. Up to 15 bytes after the rows may be read; their
   values do not matter. */
CM_MICROKERNEL void cm_isa_extreme_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t flip,
                                           int8_t *extremes);

#endif
