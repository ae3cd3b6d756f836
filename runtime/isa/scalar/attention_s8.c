/* Attention of one matrix of queries in plain C. */
#include "cmrt/arithmetic.h"
#include "cmrt/attention.h"

#include <stddef.h>
#include <string.h>

/* What the zero point of the queries adds to the product with each key. */
static void sum_keys(const struct cm_attention *a)
{
    const int8_t *key = a->key;
    for (int32_t i = 0; i < a->keys; ++i) {
        int32_t sum = 0;
        for (int32_t k = 0; k < a->depth; ++k)
            sum += *key++;
        a->key_sums[i] = -a->query_zero_point * sum;
    }
}

/* Returns the largest score. */
static int32_t score_keys(const struct cm_attention *a, const int8_t *query, int32_t keys)
{
    const int8_t *key = a->key;
    int32_t largest = CM_ATTENTION_EXCLUDED;
    for (int32_t i = 0; i < keys; ++i, key += a->depth) {
        int32_t sum = a->key_sums[i];
        for (int32_t k = 0; k < a->depth; ++k)
            sum += query[k] * key[k];
        int32_t score =
            cm_doubling_high_multiply((int32_t)((uint32_t)sum << a->score_shift), a->score_multiplier);
        a->scores[i] = score;
        largest = score > largest ? score : largest;
    }
    return largest;
}

/* Turns scores into weights, in place; returns their sum. */
static uint32_t weigh(const struct cm_attention *a, int32_t largest, int32_t keys)
{
    uint32_t total = 0;
    for (int32_t i = 0; i < keys; ++i) {
        int32_t distance = largest - a->scores[i];
        uint8_t weight =
            a->weights[distance < CM_ATTENTION_LAST_DISTANCE ? distance : CM_ATTENTION_LAST_DISTANCE];
        a->scores[i] = weight;
        total += weight;
    }
    return total;
}

static int32_t weighted_sum(const int32_t *weights, const int8_t *value, int32_t width, int32_t keys)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < keys; ++i, value += width)
        sum += weights[i] * *value;
    return sum;
}

void cm_isa_attention_s8(const struct cm_attention *a)
{
    sum_keys(a);
    for (int32_t row = 0; row < a->rows; ++row) {
        int8_t *out = a->out + row * a->width;
        int32_t keys = cm_attention_visible(a, row);
        int32_t largest = score_keys(a, a->query + row * a->depth, keys);
        if (a->mask != NULL)
            largest = cm_attention_mask(a, row, a->scores, keys);
        if (largest == CM_ATTENTION_EXCLUDED) {
            memset(out, a->zero_point, (size_t)a->width);
            continue;
        }
        uint32_t total = weigh(a, largest, keys);
        struct cm_attention_scale scale = cm_attention_scale(a, total);
        int32_t offset = a->value_zero_point * (int32_t)total;
        for (int32_t i = 0; i < a->width; ++i) {
            int32_t sum = weighted_sum(a->scores, a->value + i, a->width, keys) - offset;
            int32_t mean = cm_requantize(sum, scale.multiplier, scale.shift);
            out[i] =
                (int8_t)(cm_clamp(mean, INT8_MIN - a->zero_point, INT8_MAX - a->zero_point) + a->zero_point);
        }
    }
}
