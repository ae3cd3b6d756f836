/* Variances, standard deviations and lengths of int8 rows; see compiler/cmcompiler/ops/deviation.py. */
#include "cmrt/args/deviation_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/norm.h"
#include "cmrt/program.h"

static int32_t steps_of(const struct cm_deviation_s8 *op, uint64_t spread)
{
    if (spread == 0)
        return 0;
    int32_t exponent = 33 - __builtin_clzll(spread);
    int32_t mantissa = (int32_t)(exponent >= 0 ? spread >> exponent : spread << -exponent);
    if (op->is_root) {
        struct cm_inverse_root root = cm_inverse_square_root(spread);
        mantissa = cm_doubling_high_multiply(mantissa, root.mantissa);
        exponent -= root.exponent;
    }
    int32_t product = cm_doubling_high_multiply(mantissa, op->multiplier), right = -exponent - op->shift;
    if (right > 31 || product == 0)
        return 0;
    if (right <= 0)
        return UINT8_MAX;
    return (int32_t)(((uint32_t)product + (UINT32_C(1) << (right - 1))) >> right);
}

void cm_deviation_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_deviation_s8 *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length) {
        int32_t sum = 0, squares = 0;
        cm_isa_moments_s8(input, op->length, &sum, &squares);
        int64_t spread = (int64_t)op->length * squares - (int64_t)sum * sum;
        if (op->is_centred)
            spread =
                squares - (int64_t)(2 * op->centre) * sum + (int64_t)op->length * op->centre * op->centre;
        int32_t steps = steps_of(op, (uint64_t)spread);
        int32_t most = INT8_MAX - op->zero_point;
        output[row] = (int8_t)((steps < most ? steps : most) + op->zero_point);
    }
}
