/* Sums of columns of int8 numbers; see compiler/cmcompiler/ops/quantized_sum.py. */
#ifndef CMRT_ADD_ROWS_H
#define CMRT_ADD_ROWS_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* Adds each of the rows, `length` elements next to each other, to the sums. */
CM_MICROKERNEL void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums);

#endif
