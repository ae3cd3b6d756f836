/* Attention of one matrix of queries with MVE: four keys, or four columns of values, at a time. */
#include "cmrt/attention.h"
#include "dot_s8.h"

#include <stddef.h>
#include <string.h>

/* Weights are held as int8: less this. */
#define WEIGHT_OFFSET 128

/* What the zero point of the queries adds to the product with each key. */
static void sum_keys(const struct cm_attention *a)
{
    for (int32_t i = 0; i < a->keys; ++i)
        a->key_sums[i] = -a->query_zero_point * sum_row(a->key + i * a->depth, a->depth);
}

/* Columns of values next to each other, and what the offset of the weights adds to each sum. */
static void transpose_values(const struct cm_attention *a)
{
    for (int32_t column = 0; column < a->width; column += 8) {
        mve_pred16_t valid = vctp16q((uint32_t)(a->width - column));
        for (int32_t i = 0; i < a->keys; ++i) {
            int16x8_t row = vldrbq_z_s16(a->value + i * a->width + column, valid);
            int8_t lanes[16] __attribute__((aligned(16)));
            vst1q_s8(lanes, vreinterpretq_s8_s16(row));
            int32_t left = a->width - column < 8 ? a->width - column : 8;
            for (int32_t lane = 0; lane < left; ++lane)
                a->values[(column + lane) * a->keys + i] = lanes[2 * lane];
        }
    }
    for (int32_t column = 0; column < a->width; ++column)
        a->value_sums[column] = WEIGHT_OFFSET * sum_row(a->values + column * a->keys, a->keys);
}

static inline int32x4_t score(const struct cm_attention *a, int32x4_t sums, int32_t key)
{
    sums = vaddq_s32(sums, vldrwq_s32(a->key_sums + key));
    return vqrdmulhq_n_s32(vshlq_r_s32(sums, a->score_shift), a->score_multiplier);
}

/* Returns the largest score. A row of queries stays in registers if it is short; what is loaded of the next
   key then meets zeros. */
static int32_t score_keys(const struct cm_attention *a, const int8_t *query, int32_t keys)
{
    int32x4_t largest = vdupq_n_s32(CM_ATTENTION_EXCLUDED);
    int8x16_t row = vldrbq_z_s8(query, vctp8q((uint32_t)a->depth));
    int32_t i = 0, depth = a->depth;
    const int8_t *key = a->key;
    if (depth <= 16)
        for (; i + 4 <= keys; i += 4, key += 4 * depth) {
            int32_t sum0 = vmladavq_s8(row, vldrbq_s8(key));
            int32_t sum1 = vmladavq_s8(row, vldrbq_s8(key + depth));
            int32_t sum2 = vmladavq_s8(row, vldrbq_s8(key + 2 * depth));
            int32_t sum3 = vmladavq_s8(row, vldrbq_s8(key + 3 * depth));
            int32x4_t scores = score(a, four(sum0, sum1, sum2, sum3), i);
            vstrwq_s32(a->scores + i, scores);
            largest = vmaxq_s32(largest, scores);
        }
    for (; i < keys; i += 4, key += 4 * depth) {
        mve_pred16_t valid = vctp32q((uint32_t)(keys - i));
        int32x4_t scores = score(a, dot(query, key, depth, depth, keys - i), i);
        vstrwq_s32(a->scores + i, scores);
        largest = vmaxq_m_s32(largest, largest, scores, valid);
    }
    return vmaxvq_s32(CM_ATTENTION_EXCLUDED, largest);
}

/* Turns scores into weights, in place; returns their sum. Keys that the row does not see have weight 0. */
static uint32_t weigh(const struct cm_attention *a, int32_t largest, int32_t keys)
{
    uint32_t total = 0;
    const int32_t *scores = a->scores;
    int8_t *weights = (int8_t *)a->scores;
    __asm volatile("vdup.32 q2, %[largest]\n"
                   "vdup.32 q3, %[last]\n"
                   "dlstp.32 lr, %[keys]\n"
                   "1:\n"
                   "vldrw.s32 q0, [%[scores]], #16\n"
                   "vsub.i32 q0, q2, q0\n"
                   "vmin.u32 q0, q0, q3\n"
                   "vldrb.u32 q1, [%[table], q0]\n"
                   "vaddva.u32 %[total], q1\n"
                   "vsub.i32 q1, q1, %[offset]\n"
                   "vstrb.32 q1, [%[weights]], #4\n"
                   "letp lr, 1b\n"
                   : [scores] "+r"(scores), [weights] "+l"(weights), [total] "+Te"(total)
                   : [table] "r"(a->weights), [largest] "r"(largest), [last] "r"(CM_ATTENTION_LAST_DISTANCE),
                     [offset] "r"(WEIGHT_OFFSET), [keys] "r"(keys)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    memset((int8_t *)a->scores + keys, -WEIGHT_OFFSET, (size_t)(a->keys - keys));
    return total;
}

/* For the rounding see product.h. */
static inline int32x4_t rescale(int32x4_t sums, struct cm_attention_scale scale)
{
    int32_t right = scale.shift < 0 ? scale.shift : 0;
    sums = vqrdmulhq_n_s32(vshlq_r_s32(sums, scale.shift - right), scale.multiplier);
    return vrshlq_n_s32(vqdmlahq_n_s32(sums, sums, right < 0), right);
}

static void write_means(const struct cm_attention *a, uint32_t total, int8_t *out)
{
    struct cm_attention_scale scale = cm_attention_scale(a, total);
    int32_t offset = a->value_zero_point * (int32_t)total;
    for (int32_t column = 0; column < a->width; column += 4) {
        int32_t left = a->width - column;
        mve_pred16_t valid = vctp32q((uint32_t)left);
        const int8_t *values = a->values + column * a->keys;
        int32x4_t sums = dot((const int8_t *)a->scores, values, a->keys, a->keys, left);
        sums = vaddq_s32(sums, vldrwq_z_s32(a->value_sums + column, valid));
        int16x8_t means = vqmovnbq_s32(vdupq_n_s16(0), rescale(vsubq_n_s32(sums, offset), scale));
        int8x16_t narrow = vqmovnbq_s16(vdupq_n_s8(0), vqaddq_n_s16(means, (int16_t)a->zero_point));
        vstrbq_p_s32(out + column, vreinterpretq_s32_s8(narrow), valid);
    }
}

void cm_isa_attention_s8(const struct cm_attention *a)
{
    sum_keys(a);
    transpose_values(a);
    for (int32_t row = 0; row < a->rows; ++row) {
        int8_t *out = a->out + row * a->width;
        int32_t keys = cm_attention_visible(a, row);
        int32_t largest = score_keys(a, a->query + row * a->depth, keys);
        if (a->mask != NULL)
            largest = cm_attention_mask(a, row, a->scores, keys);
        if (largest == CM_ATTENTION_EXCLUDED)
            memset(out, a->zero_point, (size_t)a->width);
        else
            write_means(a, weigh(a, largest, keys), out);
    }
}
