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

static int32_t score(const struct cm_attention *a, int32_t sum)
{
    return cm_doubling_high_multiply((int32_t)((uint32_t)sum << a->score_shift), a->score_multiplier);
}

static int32_t dot(const int8_t *query, const int8_t *key, int32_t depth, int32_t sum)
{
    for (int32_t k = 0; k < depth; ++k)
        sum += query[k] * key[k];
    return sum;
}

/* Four keys at a time, which share the loads of the query. Returns the largest score. */
static int32_t score_keys(const struct cm_attention *a, const int8_t *query, int32_t keys)
{
    int32_t depth = a->depth, i = 0;
    const int8_t *key = a->key;
    for (; i + 4 <= keys; i += 4, key += 4 * depth) {
        const int8_t *key1 = key + depth, *key2 = key1 + depth, *key3 = key2 + depth;
        int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        for (int32_t k = 0; k < depth; ++k) {
            int32_t x = query[k];
            sum0 += x * key[k];
            sum1 += x * key1[k];
            sum2 += x * key2[k];
            sum3 += x * key3[k];
        }
        a->scores[i] = score(a, sum0 + a->key_sums[i]);
        a->scores[i + 1] = score(a, sum1 + a->key_sums[i + 1]);
        a->scores[i + 2] = score(a, sum2 + a->key_sums[i + 2]);
        a->scores[i + 3] = score(a, sum3 + a->key_sums[i + 3]);
    }
    for (; i < keys; ++i, key += depth)
        a->scores[i] = score(a, dot(query, key, depth, a->key_sums[i]));
    int32_t largest = CM_ATTENTION_EXCLUDED;
    for (i = 0; i < keys; ++i)
        largest = a->scores[i] > largest ? a->scores[i] : largest;
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

static int8_t mean(const struct cm_attention *a, struct cm_attention_scale scale, int32_t sum)
{
    int32_t result = cm_requantize(sum, scale.multiplier, scale.shift);
    return (int8_t)(cm_clamp(result, INT8_MIN - a->zero_point, INT8_MAX - a->zero_point) + a->zero_point);
}

/* Four columns of values at a time, which share the loads of the weights. */
static void write_means(const struct cm_attention *a, uint32_t total, int32_t keys, int8_t *out)
{
    struct cm_attention_scale scale = cm_attention_scale(a, total);
    int32_t start = -a->value_zero_point * (int32_t)total, width = a->width, column = 0;
    for (; column + 4 <= width; column += 4) {
        const int8_t *value = a->value + column;
        int32_t sum0 = start, sum1 = start, sum2 = start, sum3 = start;
        for (int32_t i = 0; i < keys; ++i, value += width) {
            int32_t weight = a->scores[i];
            sum0 += weight * value[0];
            sum1 += weight * value[1];
            sum2 += weight * value[2];
            sum3 += weight * value[3];
        }
        out[column] = mean(a, scale, sum0);
        out[column + 1] = mean(a, scale, sum1);
        out[column + 2] = mean(a, scale, sum2);
        out[column + 3] = mean(a, scale, sum3);
    }
    for (; column < width; ++column) {
        const int8_t *value = a->value + column;
        int32_t sum = start;
        for (int32_t i = 0; i < keys; ++i, value += width)
            sum += a->scores[i] * *value;
        out[column] = mean(a, scale, sum);
    }
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
        if (largest == CM_ATTENTION_EXCLUDED)
            memset(out, a->zero_point, (size_t)a->width);
        else
            write_means(a, weigh(a, largest, keys), keys, out);
    }
}
