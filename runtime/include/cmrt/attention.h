/* Scaled dot product attention of int8 numbers; see compiler/cmcompiler/ops/attention.py. */
#ifndef CMRT_ATTENTION_H
#define CMRT_ATTENTION_H

#include <stdint.h>

#include "cmrt/microkernel.h"

#define CM_ATTENTION_LAST_DISTANCE 576
#define CM_ATTENTION_EXCLUDED (-(1 << 30))

/* What becomes of rows of which the mask excludes all keys; see
 * compiler/cmcompiler/ops/support/empty_rows.py. */
#define CM_EMPTY_ROWS_ZERO 0
#define CM_EMPTY_ROWS_EQUAL 1

/* One matrix of queries with its keys, values and mask; all without gaps. */
struct cm_attention {
    const int8_t *query, *key, *value;
    const void *mask; /* of int16 or bool, or NULL */
    int8_t *out;
    const uint8_t *weights; /* by distance from the largest score */
    int32_t *key_sums, *scores, *value_sums;
    int8_t *values; /* workspace, as are the sums and scores */
    uint32_t *workspace;
    int32_t rows, keys, depth, width;
    int32_t is_causal, empty_rows, is_bool, mask_row_stride;
    int32_t query_zero_point, value_zero_point;
    int32_t score_multiplier, score_shift;
    int32_t multiplier, shift, zero_point;
};
CM_MICROKERNEL void cm_isa_attention_s8(const struct cm_attention *attention);

/* How many keys a row sees. */
static inline int32_t cm_attention_visible(const struct cm_attention *attention, int32_t row)
{
    return attention->is_causal && row + 1 < attention->keys ? row + 1 : attention->keys;
}

/* Applies the mask to the scores of a row; returns the largest. */
int32_t cm_attention_mask(const struct cm_attention *attention, int32_t row, int32_t *scores, int32_t keys);

/* From a sum of values, weighted with weights of a sum, to the output: multiplier * 2^(shift - 31). */
struct cm_attention_scale {
    int32_t multiplier, shift;
};
struct cm_attention_scale cm_attention_scale(const struct cm_attention *attention, uint32_t total);

#endif
