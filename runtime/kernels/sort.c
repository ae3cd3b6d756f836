/* Elements of rows in order, with their places; see compiler/cmcompiler/ops/sort.py. */
#include "cmrt/args/sort.h"
#include "cmrt/element.h"
#include "cmrt/nest.h"

#include <stdbool.h>

#define FEW 16 /* elements up to which insertion beats merging */

/* An integer in the order of float32: NaN is the largest, -0 and 0 are one. */
static int32_t key_of_float(int32_t bits)
{
    int32_t magnitude = bits & INT32_MAX;
    return magnitude > 0x7f800000 ? INT32_MAX : bits < 0 ? -magnitude : magnitude;
}

/* Elements with smaller keys come first. */
static int32_t key_of(const struct cm_sort *op, const void *row, int32_t place)
{
    int32_t index = place * op->input_step;
    int32_t key = op->type == CM_FLOAT32 ? key_of_float(((const int32_t *)row)[index])
                                         : (int32_t)cm_load((enum cm_element)op->type, row, index);
    return op->descending ? ~key : key;
}

/* The places of the first `count` elements, by insertion into those found so far. */
static const int32_t *insert_all(const struct cm_sort *op, const void *row, int32_t *keys)
{
    int32_t *places = keys + FEW;
    int32_t found = 0;
    for (int32_t place = 0; place < op->length; ++place) {
        int32_t key = key_of(op, row, place);
        if (found == op->count && key >= keys[found - 1])
            continue;
        int32_t at = found < op->count ? found++ : found - 1;
        for (; at > 0 && key < keys[at - 1]; --at) {
            keys[at] = keys[at - 1];
            places[at] = places[at - 1];
        }
        keys[at] = key;
        places[at] = place;
    }
    return places;
}

/* `from` in order, by merging longer and longer runs; `to` has as many places, and keys are those of each
   number, or NULL if numbers are their own. */
static inline __attribute__((always_inline)) const int32_t *merge(const int32_t *keys, int32_t *from,
                                                                  int32_t *to, int32_t length)
{
    for (int32_t run = 1; run < length; run *= 2) {
        for (int32_t start = 0; start < length; start += 2 * run) {
            int32_t middle = length - start > run ? start + run : length;
            int32_t end = length - middle > run ? middle + run : length;
            int32_t left = start, right = middle;
            for (int32_t i = start; i < end; ++i) {
                bool is_right = left == middle;
                if (!is_right && right < end)
                    is_right = keys == NULL ? from[right] < from[left] : keys[from[right]] < keys[from[left]];
                to[i] = is_right ? from[right++] : from[left++];
            }
        }
        int32_t *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* The places of all elements in order, by merging. */
static const int32_t *merge_all(const struct cm_sort *op, const void *row, int32_t *keys)
{
    int32_t length = op->length;
    int32_t *places = keys + length;
    for (int32_t place = 0; place < length; ++place) {
        keys[place] = key_of(op, row, place);
        places[place] = place;
    }
    return merge(keys, places, places + length, length);
}

static void copy_element(void *to, int32_t at, const void *from, int32_t place, int32_t size)
{
    switch (size) {
    case 1:
        ((uint8_t *)to)[at] = ((const uint8_t *)from)[place];
        break;
    case 2:
        ((uint16_t *)to)[at] = ((const uint16_t *)from)[place];
        break;
    default:
        ((uint32_t *)to)[at] = ((const uint32_t *)from)[place];
        break;
    }
}

/* An int8 element with its place, in the order of both. */
static int32_t word_of(const int8_t *row, int32_t place, int32_t step, int32_t flip)
{
    return (int32_t)((uint32_t)(row[place * step] ^ flip) << 16) | place;
}

/* The words of the first `count` elements. */
static const int32_t *insert_bytes(const struct cm_sort *op, const int8_t *row, int32_t flip, int32_t *words)
{
    const int32_t length = op->length, count = op->count, step = op->input_step;
    int32_t found = 0;
    for (int32_t place = 0; place < length; ++place) {
        int32_t word = word_of(row, place, step, flip);
        if (found == count && word > words[found - 1])
            continue;
        int32_t at = found < count ? found++ : found - 1;
        for (; at > 0 && word < words[at - 1]; --at)
            words[at] = words[at - 1];
        words[at] = word;
    }
    return words;
}

/* The words of all elements, by merging. */
static const int32_t *merge_bytes(const struct cm_sort *op, const int8_t *row, int32_t flip, int32_t *words)
{
    const int32_t length = op->length;
    for (int32_t place = 0; place < length; ++place)
        words[place] = word_of(row, place, op->input_step, flip);
    return merge(NULL, words, words + length, length);
}

static void sort_bytes(const struct cm_sort *op, const int8_t *row, int8_t *values, int64_t *places,
                       int32_t *scratch)
{
    const int32_t flip = op->descending ? -1 : 0;
    const int32_t *words =
        op->count <= FEW ? insert_bytes(op, row, flip, scratch) : merge_bytes(op, row, flip, scratch);
    for (int32_t i = 0; i < op->count; ++i, places += op->places_step, values += op->values_step) {
        *places = words[i] & UINT16_MAX;
        *values = (int8_t)(words[i] >> 16 ^ flip);
    }
}

void cm_sort(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_sort *op = call->arguments;
    int32_t *scratch = cm_write(context, op->scratch);
    int32_t size = cm_element_size((enum cm_element)op->type);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const void *row = (const uint8_t *)cm_read(context, op->input) + nest.offset[0];
        void *values = (uint8_t *)cm_write(context, op->values) + nest.offset[1];
        int64_t *places = (void *)((uint8_t *)cm_write(context, op->places) + nest.offset[2]);
        if (op->type == CM_INT8 && op->length <= UINT16_MAX) {
            sort_bytes(op, row, values, places, scratch);
            continue;
        }
        const int32_t *order = op->count <= FEW ? insert_all(op, row, scratch) : merge_all(op, row, scratch);
        for (int32_t i = 0; i < op->count; ++i) {
            places[i * op->places_step] = order[i];
            copy_element(values, i * op->values_step, row, order[i] * op->input_step, size);
        }
    } while (cm_nest_next(&nest));
}
