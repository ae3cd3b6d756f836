/* Functions of one float; see compiler/cmcompiler/ops/unary.py. They are grouped by what they share, so
   that an image links little of functions.c. */
#include "cmrt/args/unary.h"
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise_f32.h"
#include "cmrt/functions.h"
#include "cmrt/program.h"

#include <math.h>

/* The enums are in the order of ops/unary.py. */
enum plain {
    ABS,
    NEG,
    CLAMP,
    SQRT,
    RSQRT,
    RECIPROCAL,
    SIGN,
    LEAKY_RELU,
    HARDSIGMOID,
    HARDSWISH,
    FLOOR,
    CEIL,
    TRUNC,
    ROUND
};
enum exponential { EXP, EXPM1, LOG, SIGMOID, TANH, ELU, GELU, GELU_TANH, SILU, LOG1P, LOG2, LOG10, ERF };
enum hyperbolic { SINH, COSH, ASINH, ACOSH, ATANH };
enum trigonometric { SIN, COS, TAN, ASIN, ACOS, ATAN };

typedef float float_function(int32_t function, float x, float first, float second);

/* Inlined into a caller that knows the function, it has a loop of its own. */
static inline __attribute__((always_inline)) void map(const struct cm_context *context, const void *arguments,
                                                      int32_t function, float_function *apply)
{
    const struct cm_unary *op = arguments;
    const float *input = cm_read(context, op->input), *end = input + op->count;
    float *output = cm_write(context, op->output);
    float first = cm_float(op->first), second = cm_float(op->second);
    while (input < end)
        *output++ = apply(function, *input++, first, second);
}

static float clamped(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static float plain(int32_t function, float x, float first, float second)
{
    switch ((enum plain)function) {
    case ABS:
        return fabsf(x);
    case NEG:
        return -x;
    case CLAMP:
        return clamped(x, first, second);
    case SQRT:
        return sqrtf(x);
    case RSQRT:
        return 1.0f / sqrtf(x);
    case RECIPROCAL:
        return 1.0f / x;
    case SIGN:
        return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
    case LEAKY_RELU:
        return x > 0 ? x : x * first;
    case HARDSIGMOID:
        return clamped(x + 3.0f, 0.0f, 6.0f) / 6.0f;
    case HARDSWISH:
        return x * clamped(x + 3.0f, 0.0f, 6.0f) / 6.0f;
    case FLOOR:
        return floorf(x);
    case CEIL:
        return ceilf(x);
    case TRUNC:
        return truncf(x);
    case ROUND:
        break;
    }
    return rintf(x);
}

static float exponential(int32_t function, float x, float first, float second)
{
    switch ((enum exponential)function) {
    case EXP:
        return cm_exp(x);
    case EXPM1:
        return cm_expm1(x);
    case LOG:
        return cm_log(x);
    case SIGMOID:
        return cm_sigmoid(x);
    case TANH:
        return cm_tanh(x);
    case ELU:
        return x > 0 ? x * second : cm_expm1(x) * first;
    case GELU:
        return 0.5f * x * cm_erfc(x * -0.70710678f);
    case GELU_TANH:
        return x * cm_sigmoid(1.5957691f * (x + 0.044715f * x * x * x));
    case SILU:
        return x * cm_sigmoid(x);
    case LOG1P:
        return cm_log1p(x);
    case LOG2:
        return cm_log2(x);
    case LOG10:
        return cm_log10(x);
    case ERF:
        break;
    }
    return cm_erf(x);
}

static float hyperbolic(int32_t function, float x, float first, float second)
{
    (void)first;
    (void)second;
    switch ((enum hyperbolic)function) {
    case SINH:
        return cm_sinh(x);
    case COSH:
        return cm_cosh(x);
    case ASINH:
        return cm_asinh(x);
    case ACOSH:
        return cm_acosh(x);
    case ATANH:
        break;
    }
    return cm_atanh(x);
}

static float trigonometric(int32_t function, float x, float first, float second)
{
    (void)first;
    (void)second;
    switch ((enum trigonometric)function) {
    case SIN:
        return cm_sin(x);
    case COS:
        return cm_cos(x);
    case TAN:
        return cm_tan(x);
    case ASIN:
        return cm_asin(x);
    case ACOS:
        return cm_acos(x);
    case ATAN:
        break;
    }
    return cm_atan(x);
}

void cm_unary_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_unary *op = call->arguments;
#define CASE(function)                                                                                       \
    case function:                                                                                           \
        map(context, op, function, plain);                                                                   \
        break
    switch ((enum plain)op->function) {
        CASE(ABS);
        CASE(NEG);
        CASE(SQRT);
        CASE(RSQRT);
        CASE(RECIPROCAL);
        CASE(SIGN);
        CASE(LEAKY_RELU);
        CASE(HARDSIGMOID);
        CASE(HARDSWISH);
        CASE(FLOOR);
        CASE(CEIL);
        CASE(TRUNC);
        CASE(ROUND);
    case CLAMP:
        cm_isa_clamp_f32(cm_float(op->first), cm_float(op->second), cm_read(context, op->input),
                         cm_write(context, op->output), op->count);
        break;
    }
#undef CASE
}

void cm_unary_exp_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_unary *op = call->arguments;
    map(context, op, op->function, exponential);
}

void cm_unary_hyperbolic_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_unary *op = call->arguments;
    map(context, op, op->function, hyperbolic);
}

void cm_unary_trigonometric_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_unary *op = call->arguments;
    map(context, op, op->function, trigonometric);
}
