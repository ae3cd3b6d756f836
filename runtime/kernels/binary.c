/* Functions of two numbers; see compiler/cmcompiler/ops/binary.py. */
#include "cmrt/args/binary.h"
#include "cmrt/args/binary_bytes.h"
#include "cmrt/arithmetic.h"
#include "cmrt/element.h"
#include "cmrt/elementwise.h"
#include "cmrt/elementwise_f32.h"
#include "cmrt/functions.h"
#include "cmrt/nest.h"

#include <math.h>

/* In the order of ops/binary.py. Those from EQ on give a truth value. */
enum function {
    ADD,
    SUB,
    MUL,
    DIV,
    MINIMUM,
    MAXIMUM,
    FLOOR_DIV,
    FMOD,
    REMAINDER,
    POWER,
    ATAN2,
    AND,
    OR,
    XOR,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR
};

struct run {
    const uint8_t *lhs, *rhs;
    uint8_t *output;
};

typedef void run_function(const struct cm_binary *op, struct run run);

static inline void walk(const struct cm_context *context, const struct cm_binary *op, run_function *apply)
{
    const uint8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        apply(op, (struct run){lhs + nest.offset[0], rhs + nest.offset[1], output + nest.offset[2]});
    while (cm_nest_next(&nest));
}

/* Comparisons of two numbers; all false for a NaN. */
struct order {
    bool less, equal, greater;
};

static bool truth(int32_t function, struct order order, bool a, bool b)
{
    switch ((enum function)function) {
    case EQ:
        return order.equal;
    case NE:
        return !order.equal;
    case LT:
        return order.less;
    case LE:
        return order.less || order.equal;
    case GT:
        return order.greater;
    case GE:
        return order.greater || order.equal;
    case LOGICAL_AND:
        return a && b;
    case LOGICAL_OR:
        return a || b;
    default:
        return a != b;
    }
}

static void float_run(const struct cm_binary *op, struct run run)
{
    const float *lhs = (const float *)(const void *)run.lhs, *rhs = (const float *)(const void *)run.rhs;
    if (op->output_type == CM_FLOAT32) {
        const struct cm_floats floats = {lhs, rhs, op->lhs_step, op->rhs_step, (float *)(void *)run.output};
        cm_isa_arithmetic_f32((enum cm_arithmetic)op->function, floats, op->count);
        return;
    }
    for (int32_t i = 0; i < op->count; ++i) {
        float a = lhs[i * op->lhs_step], b = rhs[i * op->rhs_step];
        const struct order order = {.less = a < b, .equal = a == b, .greater = b < a};
        run.output[i] = truth(op->function, order, a != 0, b != 0);
    }
}

void cm_binary_f32(const struct cm_context *context, const struct cm_call *call)
{
    walk(context, call->arguments, float_run);
}

/* The remainder has the sign of the divisor. */
static float remainder_of(float a, float b)
{
    float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Rounds (a - remainder) / b, so that exact quotients stay exact. */
static float floor_quotient(float a, float b)
{
    if (b == 0)
        return a / b;
    float quotient = (a - remainder_of(a, b)) / b;
    float floored = floorf(quotient);
    return quotient - floored > 0.5f ? floored + 1.0f : floored;
}

static float library_value(int32_t function, float a, float b)
{
    switch ((enum function)function) {
    case FLOOR_DIV:
        return floor_quotient(a, b);
    case FMOD:
        return fmodf(a, b);
    case REMAINDER:
        return remainder_of(a, b);
    case POWER:
        return cm_power(a, b);
    default:
        return cm_atan2(a, b);
    }
}

static void library_run(const struct cm_binary *op, struct run run)
{
    const float *lhs = (const float *)(const void *)run.lhs, *rhs = (const float *)(const void *)run.rhs;
    float *output = (float *)(void *)run.output;
    for (int32_t i = 0; i < op->count; ++i)
        output[i] = library_value(op->function, lhs[i * op->lhs_step], rhs[i * op->rhs_step]);
}

void cm_binary_library_f32(const struct cm_context *context, const struct cm_call *call)
{
    walk(context, call->arguments, library_run);
}

/* Towards zero; x / 0 is 0, and nothing overflows. */
static int64_t quotient_of(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* With the sign of a; x % 0 is 0. */
static int64_t rest_of(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static bool rounds_down(int64_t a, int64_t b)
{
    return rest_of(a, b) != 0 && (a < 0) != (b < 0);
}

static int64_t power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static int64_t shifted(int64_t a, int64_t b, bool left)
{
    if (left)
        return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
    return a >> (b < 0 || b > 63 ? 63 : b);
}

static int64_t integer_value(int32_t function, int64_t a, int64_t b)
{
    const struct order order = {.less = a < b, .equal = a == b, .greater = b < a};
    switch ((enum function)function) {
    case ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case DIV:
        return quotient_of(a, b);
    case MINIMUM:
        return a < b ? a : b;
    case MAXIMUM:
        return a > b ? a : b;
    case FLOOR_DIV:
        return quotient_of(a, b) - (rounds_down(a, b) ? 1 : 0);
    case FMOD:
        return rest_of(a, b);
    case REMAINDER:
        return rest_of(a, b) + (rounds_down(a, b) ? b : 0);
    case POWER:
        return power(a, b);
    case AND:
        return a & b;
    case OR:
        return a | b;
    case XOR:
        return a ^ b;
    case SHIFT_LEFT:
        return shifted(a, b, true);
    case SHIFT_RIGHT:
        return shifted(a, b, false);
    default:
        return truth(function, order, a != 0, b != 0);
    }
}

static void integer_run(const struct cm_binary *op, struct run run)
{
    for (int32_t i = 0; i < op->count; ++i) {
        int64_t a = cm_load((enum cm_element)op->lhs_type, run.lhs, i * op->lhs_step);
        int64_t b = cm_load((enum cm_element)op->rhs_type, run.rhs, i * op->rhs_step);
        cm_store((enum cm_element)op->output_type, run.output, i, integer_value(op->function, a, b));
    }
}

/* Comparisons of int64: equal, or less, of which the others are the opposite or have the operands in the
   other order. */
static void compare_run(const struct cm_binary *op, struct run run)
{
    const enum function function = (enum function)op->function;
    const bool is_swapped = function == GT || function == LE;
    const uint8_t *lhs = is_swapped ? run.rhs : run.lhs, *rhs = is_swapped ? run.lhs : run.rhs;
    const int32_t lhs_step = is_swapped ? op->rhs_step : op->lhs_step;
    const int32_t rhs_step = is_swapped ? op->lhs_step : op->rhs_step;
    const int64_t *a = (const void *)lhs, *b = (const void *)rhs;
    const uint8_t opposite = function == NE || function == GE || function == LE;
    uint8_t *output = run.output, *end = output + op->count;
    if (function == EQ || function == NE)
        for (; output < end; a += lhs_step, b += rhs_step)
            *output++ = (*a == *b) ^ opposite;
    else
        for (; output < end; a += lhs_step, b += rhs_step)
            *output++ = (*a < *b) ^ opposite;
}

void cm_binary_integer(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_binary *op = call->arguments;
    const bool compares = op->function >= EQ && op->function <= GE && op->output_type == CM_BOOL;
    const bool is_long = op->lhs_type == CM_INT64 && op->rhs_type == CM_INT64;
    walk(context, op, compares && is_long ? compare_run : integer_run);
}

void cm_binary_bytes(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_binary_bytes *op = call->arguments;
    const uint8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const struct cm_byte_operands bytes = {lhs + nest.offset[0], rhs + nest.offset[1], op->lhs_step,
                                               op->rhs_step};
        cm_isa_binary_bytes(&op->function, bytes, output + nest.offset[2], op->count);
    } while (cm_nest_next(&nest));
}
