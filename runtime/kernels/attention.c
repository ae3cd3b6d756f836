/* Scaled dot product attention of int8 numbers; see compiler/cmcompiler/ops/attention.py. */
#include "cmrt/attention.h"
#include "cmrt/args/attention_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

/* The largest score of a row of which the mask excludes all keys. */
static int32_t score_empty(const struct cm_attention *attention, int32_t *scores, int32_t keys)
{
    int32_t largest = CM_ATTENTION_EXCLUDED;
    for (int32_t i = 0; i < keys; ++i) {
        if (attention->empty_rows == CM_EMPTY_ROWS_EQUAL)
            scores[i] = 0;
        largest = scores[i] > largest ? scores[i] : largest;
    }
    return largest;
}

int32_t cm_attention_mask(const struct cm_attention *attention, int32_t row, int32_t *scores, int32_t keys)
{
    const uint8_t *allowed = (const uint8_t *)attention->mask + row * attention->mask_row_stride;
    const int16_t *added = (const int16_t *)attention->mask + row * attention->mask_row_stride;
    int32_t largest = CM_ATTENTION_EXCLUDED, excluded = 0;
    if (attention->empty_rows != CM_EMPTY_ROWS_ZERO) {
        while (excluded < keys && (attention->is_bool ? !allowed[excluded] : added[excluded] == INT16_MIN))
            ++excluded;
        if (excluded == keys)
            return score_empty(attention, scores, keys);
    }
    for (int32_t i = 0; i < keys; ++i) {
        int32_t score = scores[i];
        if (attention->is_bool)
            score = allowed[i] ? score : CM_ATTENTION_EXCLUDED;
        else
            score = added[i] == INT16_MIN ? CM_ATTENTION_EXCLUDED : score + added[i];
        scores[i] = score;
        largest = score > largest ? score : largest;
    }
    return largest;
}

/* The quotient 2^(31 + shift) / total in two steps of 32 bits. */
struct cm_attention_scale cm_attention_scale(const struct cm_attention *attention, uint32_t total)
{
    int32_t bits = 32 - __builtin_clz(total), shift = bits - 1 < 32 - bits ? bits - 1 : 32 - bits;
    uint32_t whole = (UINT32_C(1) << 31) / total, rest = (UINT32_C(1) << 31) - whole * total;
    uint32_t mantissa = (whole << shift) + (rest << shift) / total;
    mantissa = mantissa < INT32_MAX ? mantissa : INT32_MAX;
    return (struct cm_attention_scale){
        cm_doubling_high_multiply(attention->multiplier, (int32_t)mantissa),
        attention->shift - shift,
    };
}

void cm_attention_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_attention_s8 *op = call->arguments;
    const int8_t *query = cm_read(context, op->query), *key = cm_read(context, op->key);
    const int8_t *value = cm_read(context, op->value);
    const uint8_t *mask = op->mask == CM_REF_NONE ? NULL : cm_read(context, op->mask);
    int8_t *out = cm_write(context, op->output);
    for (int32_t i = 0; i < op->batch; ++i) {
        int32_t shared = i / op->group, mask_bytes = i * op->mask_matrix_stride * (op->is_bool ? 1 : 2);
        struct cm_attention attention = {
            .query = query + i * op->rows * op->depth,
            .key = key + shared * op->keys * op->depth,
            .value = value + shared * op->keys * op->width,
            .mask = mask == NULL ? NULL : mask + mask_bytes,
            .out = out + i * op->rows * op->width,
            .weights = cm_read(context, op->weights),
            .key_sums = cm_write(context, op->key_sums),
            .scores = cm_write(context, op->scores),
            .value_sums = cm_write(context, op->value_sums),
            .values = cm_write(context, op->values),
            .workspace = cm_write(context, op->workspace),
            .rows = op->rows,
            .keys = op->keys,
            .depth = op->depth,
            .width = op->width,
            .is_causal = op->is_causal,
            .empty_rows = op->empty_rows,
            .is_bool = op->is_bool,
            .mask_row_stride = op->mask_row_stride,
            .query_zero_point = op->query_zero_point,
            .value_zero_point = op->value_zero_point,
            .score_multiplier = op->score_multiplier,
            .score_shift = op->score_shift,
            .multiplier = op->multiplier,
            .shift = op->shift,
            .zero_point = op->zero_point,
        };
        cm_isa_attention_s8(&attention);
    }
}
