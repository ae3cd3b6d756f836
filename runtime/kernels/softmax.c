/* Softmax over rows of int8 numbers; see compiler/cmcompiler/ops/softmax.py. */
#include "cmrt/softmax.h"
#include "cmrt/args/softmax_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

void cm_softmax_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_softmax_s8 *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row)
        cm_isa_softmax_s8(input + row * op->length, cm_read(context, op->exponentials),
                          output + row * op->length, op->length, op->finer_bits);
}

/* a * b * 2^-31 to the nearest integer, halves away from zero; b is not negative. */
static int32_t multiply_high(int32_t a, int32_t b)
{
    return a < 0 ? -cm_doubling_high_multiply(-a, b) : cm_doubling_high_multiply(a, b);
}

static int32_t shift_left_saturating(int32_t x, int32_t n)
{
    int32_t most = INT32_MAX >> n;
    return x > most ? INT32_MAX : x < -most - 1 ? INT32_MIN : x * (1 << n);
}

struct cm_softmax_scale cm_softmax_scale(uint32_t sum, int32_t finer_bits)
{
    int32_t headroom = __builtin_clz(sum);
    /* 1 + x is the sum scaled into [1, 2); Newton's iteration for 1 / (1 + x), of 29 fractional bits, starts
       at 48/17 - 32/17 * (1 + x) / 2. */
    int32_t half_denominator = (int32_t)(sum << headroom >> 1);
    int32_t result = 1515870810 - multiply_high(half_denominator, 1010580540);
    for (int32_t i = 0; i < 3; ++i) {
        int32_t error = (1 << 29) - multiply_high(half_denominator, result);
        result += shift_left_saturating(multiply_high(error, result), 2);
    }
    return (struct cm_softmax_scale){
        .multiplier = shift_left_saturating(result, 1),
        .shift = CM_SOFTMAX_SUM_BITS - headroom + 23 - finer_bits,
    };
}
