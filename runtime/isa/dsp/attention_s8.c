/* Attention with the DSP extension: two rows of queries by two keys, or two columns of values, at a time.

   Queries and weights are widened to 16 bits once, in the order of simd.h; keys and values at each use. */
#include "cmrt/arithmetic.h"
#include "cmrt/attention.h"
#include "simd.h"

#include <stddef.h>

struct sums {
    int32_t sum00, sum01, sum10, sum11;
};

static inline int32_t whole_words(int32_t bytes)
{
    return (bytes + 3) & ~3;
}

/* Of two widened rows, two words of each in turn, with two others. */
static inline struct sums multiply(const uint32_t *lhs, const int8_t *rhs, int32_t stride, int32_t depth)
{
    struct sums s = {0, 0, 0, 0};
    for (const uint32_t *end = lhs + depth; lhs < end; lhs += 4, rhs += 4) {
        uint32_t word = load_bytes(rhs), even = widen_even(word), odd = widen_odd(word);
        s.sum00 = multiply_pairs(lhs[1], odd, multiply_pairs(lhs[0], even, s.sum00));
        s.sum10 = multiply_pairs(lhs[3], odd, multiply_pairs(lhs[2], even, s.sum10));
        word = load_bytes(rhs + stride), even = widen_even(word), odd = widen_odd(word);
        s.sum01 = multiply_pairs(lhs[1], odd, multiply_pairs(lhs[0], even, s.sum01));
        s.sum11 = multiply_pairs(lhs[3], odd, multiply_pairs(lhs[2], even, s.sum11));
    }
    return s;
}

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

/* Columns of values next to each other, in whole words. What follows the last value meets weights of 0. */
static void transpose_values(const struct cm_attention *a)
{
    int32_t stride = whole_words(a->keys);
    const int8_t *value = a->value;
    for (int32_t i = 0; i < a->keys; ++i)
        for (int32_t column = 0; column < a->width; ++column)
            a->values[column * stride + i] = *value++;
}

/* A row of queries, followed by zeros in its last word. */
static void widen_query(uint32_t *out, const int8_t *row, int32_t depth)
{
    for (; depth > 0; depth -= 4, row += 4, out += 4) {
        uint32_t word = load_bytes(row);
        if (depth < 4)
            word &= UINT32_MAX >> 8 * (4 - depth);
        out[0] = widen_even(word);
        out[1] = widen_odd(word);
    }
}

/* The reader of the program limits scores so that doubled sums fit. */
static inline int32_t score(int32_t sum, int32_t shift, int32_t multiplier)
{
    return add_high_product((int32_t)((uint32_t)sum << shift), multiplier, 0);
}

static void score_keys(const struct cm_attention *a, int32_t *scores0, int32_t *scores1, int32_t keys)
{
    int32_t depth = a->depth, shift = a->score_shift + 1, multiplier = a->score_multiplier;
    for (int32_t i = 0; i < keys; i += 2) {
        const int8_t *key = a->key + i * depth;
        const int32_t *key_sums = a->key_sums + i;
        int32_t next = i + 1 < keys;
        struct sums s = multiply(a->workspace, key, next ? depth : 0, depth);
        scores0[i] = score(s.sum00 + key_sums[0], shift, multiplier);
        scores1[i] = score(s.sum10 + key_sums[0], shift, multiplier);
        if (next) {
            scores0[i + 1] = score(s.sum01 + key_sums[1], shift, multiplier);
            scores1[i + 1] = score(s.sum11 + key_sums[1], shift, multiplier);
        }
    }
}

static int32_t largest_of(const int32_t *scores, int32_t keys)
{
    int32_t largest = CM_ATTENTION_EXCLUDED;
    for (int32_t i = 0; i < keys; ++i)
        largest = scores[i] > largest ? scores[i] : largest;
    return largest;
}

static inline uint32_t weight_of(const uint8_t *table, int32_t distance)
{
    return table[distance < CM_ATTENTION_LAST_DISTANCE ? distance : CM_ATTENTION_LAST_DISTANCE];
}

/* Widened weights, with zeros up to `end`; returns their sum. */
static uint32_t weigh(const uint8_t *table, const int32_t *scores, int32_t largest, int32_t keys, int32_t end,
                      uint32_t *out)
{
    uint32_t total = 0;
    int32_t i = 0;
    for (; i + 4 <= keys; i += 4, out += 4) {
        uint32_t weight0 = weight_of(table, largest - scores[i]);
        uint32_t weight1 = weight_of(table, largest - scores[i + 1]);
        uint32_t weight2 = weight_of(table, largest - scores[i + 2]);
        uint32_t weight3 = weight_of(table, largest - scores[i + 3]);
        total += weight0 + weight1 + weight2 + weight3;
        out[0] = weight0 | weight2 << 16;
        out[1] = weight1 | weight3 << 16;
    }
    for (; i < end; i += 4, out += 4) {
        uint32_t weights[4] = {0, 0, 0, 0};
        for (int32_t lane = 0; i + lane < keys && lane < 4; ++lane)
            total += weights[lane] = weight_of(table, largest - scores[i + lane]);
        out[0] = weights[0] | weights[2] << 16;
        out[1] = weights[1] | weights[3] << 16;
    }
    return total;
}

/* How a row's weighted sums become its output; a row that sees no key has a multiplier of 0. */
struct row {
    struct cm_attention_scale scale;
    int32_t offset;
};

static struct row weigh_row(const struct cm_attention *a, int32_t row, int32_t *scores, int32_t end,
                            uint32_t *out)
{
    int32_t keys = cm_attention_visible(a, row);
    int32_t largest = a->mask != NULL ? cm_attention_mask(a, row, scores, keys) : largest_of(scores, keys);
    /* The weights of a row of excluded keys are equal, and do not count. */
    uint32_t total = weigh(a->weights, scores, largest, keys, end, out);
    struct row result = {{0, 0}, 0};
    if (largest != CM_ATTENTION_EXCLUDED)
        result = (struct row){cm_attention_scale(a, total), a->value_zero_point * (int32_t)total};
    return result;
}

static inline int8_t mean(const struct cm_attention *a, const struct row *row, int32_t sum)
{
    int32_t result = cm_requantize(sum - row->offset, row->scale.multiplier, row->scale.shift);
    return (int8_t)(cm_clamp(result, INT8_MIN - a->zero_point, INT8_MAX - a->zero_point) + a->zero_point);
}

static void write_means(const struct cm_attention *a, int32_t first, int32_t count)
{
    int32_t end = cm_attention_visible(a, first + count - 1), stride = whole_words(a->keys);
    uint32_t *weights = a->workspace;
    /* What a single row's missing neighbour gives is not used. */
    struct row row0 = weigh_row(a, first, a->scores, end, weights), row1 = row0;
    if (count > 1)
        row1 = weigh_row(a, first + 1, a->scores + stride, end, weights + 2);
    int8_t *out = a->out + first * a->width, *next_out = out + a->width;
    const int8_t *values = a->values;
    for (int32_t column = 0; column < a->width; column += 2, values += 2 * stride) {
        int32_t next = column + 1 < a->width;
        struct sums s = multiply(weights, values, next ? stride : 0, end);
        out[column] = mean(a, &row0, s.sum00);
        if (next)
            out[column + 1] = mean(a, &row0, s.sum01);
        if (count > 1)
            next_out[column] = mean(a, &row1, s.sum10);
        if (count > 1 && next)
            next_out[column + 1] = mean(a, &row1, s.sum11);
    }
}

void cm_isa_attention_s8(const struct cm_attention *a)
{
    sum_keys(a);
    transpose_values(a);
    for (int32_t row = 0; row < a->rows; row += 2) {
        int32_t count = a->rows - row < 2 ? 1 : 2;
        const int8_t *query = a->query + row * a->depth;
        widen_query(a->workspace, query, a->depth);
        widen_query(a->workspace + 2, count > 1 ? query + a->depth : query, a->depth);
        score_keys(a, a->scores, a->scores + whole_words(a->keys), cm_attention_visible(a, row + count - 1));
        write_means(a, row, count);
    }
}
