/* One number for each group of elements; see compiler/cmcompiler/ops/reduction.py. */
#include "cmrt/args/reduction.h"
#include "cmrt/arithmetic.h"
#include "cmrt/element.h"
#include "cmrt/nest.h"

/* In the order of ops/reduction.py. */
enum function { SUM, PRODUCT, MAXIMUM, MINIMUM, ARGMAX, ARGMIN };

/* The members of a group, in order. */
struct members {
    const struct cm_context *context;
    const struct cm_reduction *op;
    const uint8_t *group;
};

static void start_members(const struct members *members, struct cm_nest *nest)
{
    cm_nest_start(nest, members->context, members->op->member_levels, members->op->member_depth);
}

static float float_sum(const struct members *members, bool is_product)
{
    const int32_t step = members->op->member_step;
    float result = is_product ? 1.0F : 0.0F;
    struct cm_nest nest;
    start_members(members, &nest);
    do {
        const float *x = (const float *)(const void *)(members->group + nest.offset[0]);
        if (is_product)
            for (int32_t i = members->op->member_count; i > 0; --i, x += step)
                result *= *x;
        else
            for (int32_t i = members->op->member_count; i > 0; --i, x += step)
                result += *x;
    } while (cm_nest_next(&nest));
    return result;
}

/* The first of the most extreme members, NaN above all, and its index. */
struct float_extreme {
    float value;
    int32_t place;
};

static struct float_extreme float_extreme(const struct members *members, bool is_maximum)
{
    struct float_extreme best = {0, -1};
    int32_t place = 0;
    struct cm_nest nest;
    start_members(members, &nest);
    do {
        const float *x = (const float *)(const void *)(members->group + nest.offset[0]);
        for (int32_t i = 0; i < members->op->member_count; ++i, x += members->op->member_step, ++place) {
            bool beyond = is_maximum ? *x > best.value : *x < best.value;
            if (best.place < 0 || beyond || (*x != *x && best.value == best.value))
                best = (struct float_extreme){*x, place};
        }
    } while (cm_nest_next(&nest));
    return best;
}

void cm_reduction_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_reduction *op = call->arguments;
    enum function function = (enum function)op->function;
    bool is_maximum = function == MAXIMUM || function == ARGMAX;
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->group_levels, op->group_depth);
    do {
        const uint8_t *group = (const uint8_t *)cm_read(context, op->input) + nest.offset[0];
        uint8_t *output = (uint8_t *)cm_write(context, op->output) + nest.offset[1];
        const struct members members = {context, op, group};
        float *result = (float *)(void *)output;
        if (function == SUM || function == PRODUCT)
            *result = float_sum(&members, function == PRODUCT) / cm_float(op->divisor);
        else if (function == MAXIMUM || function == MINIMUM)
            *result = float_extreme(&members, is_maximum).value;
        else
            *(int64_t *)(void *)output = float_extreme(&members, is_maximum).place;
    } while (cm_nest_next(&nest));
}

/* The result so far, and the place of an extreme. */
struct integer_result {
    int64_t value;
    int32_t place;
};

static void meet(struct integer_result *result, enum function function, int64_t x, int32_t place)
{
    bool beyond = function == MAXIMUM || function == ARGMAX ? x > result->value : x < result->value;
    if (function == SUM)
        result->value = (int64_t)((uint64_t)result->value + (uint64_t)x);
    else if (function == PRODUCT)
        result->value = (int64_t)((uint64_t)result->value * (uint64_t)x);
    else if (place == 0 || beyond)
        *result = (struct integer_result){x, place};
}

/* Of int8 members so far, the first of equals; minima are maxima of flipped bits. */
struct byte_extreme {
    int32_t flip, most, place;
};

static inline int32_t flip_of(const struct cm_reduction *op)
{
    const enum function function = (enum function)op->function;
    return function == MAXIMUM || function == ARGMAX ? 0 : -1;
}

/* Places [place, end) of a run, of which x is the first. */
static inline struct byte_extreme meet_bytes(struct byte_extreme best, const int8_t *x, int32_t place,
                                             int32_t end, int32_t step)
{
    for (; place < end; ++place, x += step)
        if ((*x ^ best.flip) > best.most) {
            best.most = *x ^ best.flip;
            best.place = place;
        }
    return best;
}

static inline int64_t extreme_result(const struct cm_reduction *op, struct byte_extreme best)
{
    const enum function function = (enum function)op->function;
    return function == ARGMAX || function == ARGMIN ? best.place : best.most ^ best.flip;
}

static int64_t extreme_of_bytes(const struct members *members)
{
    const struct cm_reduction *op = members->op;
    struct byte_extreme best = {flip_of(op), INT8_MIN - 1, 0};
    int32_t place = 0;
    struct cm_nest nest;
    start_members(members, &nest);
    do {
        const int8_t *x = (const int8_t *)members->group + nest.offset[0];
        best = meet_bytes(best, x, place, place + op->member_count, op->member_step);
        place += op->member_count;
    } while (cm_nest_next(&nest));
    return extreme_result(op, best);
}

static int64_t reduce_integers(const struct members *members)
{
    const struct cm_reduction *op = members->op;
    enum function function = (enum function)op->function;
    struct integer_result result = {function == PRODUCT ? 1 : 0, 0};
    int32_t place = 0;
    struct cm_nest nest;
    start_members(members, &nest);
    do {
        const uint8_t *run = members->group + nest.offset[0];
        for (int32_t i = 0; i < op->member_count; ++i, ++place)
            meet(&result, function, cm_load((enum cm_element)op->input_type, run, i * op->member_step),
                 place);
    } while (cm_nest_next(&nest));
    return function == ARGMAX || function == ARGMIN ? result.place : result.value;
}

/* An extreme of one run of int8 members. */
static int64_t extreme_of_run(const struct cm_reduction *op, const int8_t *x)
{
    const int32_t flip = flip_of(op), step = op->member_step;
    const struct byte_extreme first = {flip, *x ^ flip, 0};
    return extreme_result(op, meet_bytes(first, x + step, 1, op->member_count, step));
}

/* Groups that are one run of int8 members each; the innermost loop over groups has no nest. */
static void extremes_of_runs(const struct cm_context *context, const struct cm_reduction *op)
{
    const int8_t *input = cm_read(context, op->input);
    uint8_t *output = cm_write(context, op->output);
    const struct cm_level *levels = cm_read(context, op->group_levels), one = {.count = 1};
    const struct cm_level *inner = op->group_depth == 0 ? &one : &levels[op->group_depth - 1];
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->group_levels, op->group_depth == 0 ? 0 : op->group_depth - 1);
    do {
        const int8_t *group = input + nest.offset[0];
        uint8_t *result = output + nest.offset[1];
        for (int32_t i = inner->count; i > 0; --i, group += inner->step[0], result += inner->step[1])
            cm_store((enum cm_element)op->output_type, result, 0, extreme_of_run(op, group));
    } while (cm_nest_next(&nest));
}

void cm_reduction_integer(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_reduction *op = call->arguments;
    const bool is_of_bytes = op->input_type == CM_INT8 && op->function >= MAXIMUM;
    if (is_of_bytes && op->member_depth == 0) {
        extremes_of_runs(context, op);
        return;
    }
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->group_levels, op->group_depth);
    do {
        const uint8_t *group = (const uint8_t *)cm_read(context, op->input) + nest.offset[0];
        uint8_t *output = (uint8_t *)cm_write(context, op->output) + nest.offset[1];
        const struct members members = {context, op, group};
        int64_t result = is_of_bytes ? extreme_of_bytes(&members) : reduce_integers(&members);
        cm_store((enum cm_element)op->output_type, output, 0, result);
    } while (cm_nest_next(&nest));
}
