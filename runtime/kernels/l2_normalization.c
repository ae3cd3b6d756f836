/* Int8 rows divided by their lengths; see compiler/cmcompiler/ops/l2_normalization.py. */
#include "cmrt/args/l2_normalization.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

enum { RESULT_BITS = 7, ITERATIONS = 5, HALF_ROOT_OF_TWO = 1518500250 };

/* x * 2^n for n of 0 to 6, saturated. */
static int32_t shift_left(int32_t x, int32_t n)
{
    int32_t most = INT32_MAX >> n;
    if (x > most)
        return INT32_MAX;
    return x < -most - 1 ? INT32_MIN : (int32_t)((uint32_t)x << n);
}

struct factor {
    int32_t multiplier, shift;
};

/* 1 / sqrt(x) as multiplier * 2^(shift - 31), of 0 as of 1: Newton's iteration with 28 fractional bits. */
static struct factor inverse_root(int32_t x)
{
    if (x <= 1)
        return (struct factor){INT32_MAX, 0};
    int32_t shift = -11;
    for (; x >= 1 << 29; --shift)
        x /= 4;
    int32_t pairs = (__builtin_clz((uint32_t)x) - 1) / 2 - 1;
    shift += pairs;
    int32_t half = cm_rounding_shift_right((int32_t)((uint32_t)x << (2 * pairs)) >> 1, 1);
    int32_t root = 1 << 28;
    for (int32_t i = 0; i < ITERATIONS; ++i) {
        int32_t square = cm_doubling_high_multiply(root, root);
        int32_t cube = shift_left(cm_doubling_high_multiply(square, root), 6);
        int32_t error =
            cm_doubling_high_multiply((1 << 28) + (1 << 27), root) - cm_doubling_high_multiply(half, cube);
        root = shift_left(error, 3);
    }
    root = cm_doubling_high_multiply(root, HALF_ROOT_OF_TWO);
    if (shift > 0)
        return (struct factor){(int32_t)((uint32_t)root << shift), 0};
    return (struct factor){root, shift};
}

void cm_l2_normalization(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_l2_normalization *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length, output += op->length) {
        int32_t sum = 0;
        for (int32_t i = 0; i < op->length; ++i) {
            int32_t x = input[i] - op->zero_point;
            sum += x * x;
        }
        struct factor by = inverse_root(sum);
        for (int32_t i = 0; i < op->length; ++i) {
            int32_t scaled = cm_requantize(input[i] - op->zero_point, by.multiplier, by.shift + RESULT_BITS);
            output[i] = (int8_t)cm_clamp(scaled, -128, 127);
        }
    }
}
