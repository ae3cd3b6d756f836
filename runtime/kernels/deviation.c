/* Variances, standard deviations and lengths of int8 rows; see compiler/cmcompiler/ops/deviation.py. */
#include "cmrt/args/deviation_s8.h"
#include "cmrt/norm.h"
#include "cmrt/program.h"

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
        int32_t steps = cm_scaled_spread((uint64_t)spread, op->is_root, op->multiplier, op->shift, UINT8_MAX);
        int32_t most = INT8_MAX - op->zero_point;
        output[row] = (int8_t)((steps < most ? steps : most) + op->zero_point);
    }
}
