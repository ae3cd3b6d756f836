/* Sums of int8 numbers that follow each other, and what becomes of sums; see
   compiler/cmcompiler/ops/quantized_sum.py. */
#ifndef CMRT_SUM_GROUPS_H
#define CMRT_SUM_GROUPS_H

#include <stdint.h>

#include "cmrt/args/sum_scale.h"
#include "cmrt/microkernel.h"

/* The sum of each of some groups of `members` elements. */
CM_MICROKERNEL void cm_isa_sum_groups_s8(const int8_t *in, int32_t groups, int32_t members, int32_t *sums);

/* `count` sums with their offset, rescaled as CMSIS-NN does, plus the zero point, as int8. */
CM_MICROKERNEL void cm_isa_scale_sums_s8(const struct cm_sum_scale *scale, const int32_t *sums, int8_t *out,
                                         int32_t count);

#endif
