/* Variances, standard deviations and lengths of rows; see compiler/cmcompiler/ops/deviation.py. */
#include "cmrt/args/deviation.h"
#include "cmrt/norm.h"
#include "cmrt/program.h"

void cm_deviation_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_deviation *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    const struct cm_norm_group members = {op->length, 1, op->length};
    for (int32_t row = 0; row < op->rows; ++row, input += op->length) {
        int32_t sum = 0, squares = 0;
        cm_isa_moments_s8(input, &members, &sum, &squares);
        int64_t spread = (int64_t)op->length * squares - (int64_t)sum * sum;
        if (op->is_centred)
            spread =
                squares - (int64_t)(2 * op->centre) * sum + (int64_t)op->length * op->centre * op->centre;
        int32_t steps = cm_scaled_spread((uint64_t)spread, op->is_root, op->multiplier, op->shift, UINT8_MAX);
        int32_t most = INT8_MAX - op->zero_point;
        output[row] = (int8_t)((steps < most ? steps : most) + op->zero_point);
    }
}

void cm_deviation_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_deviation *op = call->arguments;
    const int16_t *input = cm_read(context, op->input);
    int16_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length) {
        int32_t sum = 0;
        uint64_t squares = 0;
        for (int32_t i = 0; i < op->length; ++i) {
            sum += input[i];
            squares += (uint32_t)(input[i] * input[i]);
        }
        int64_t spread = op->length * (int64_t)squares - (int64_t)sum * sum;
        if (op->is_centred)
            spread = (int64_t)squares - (int64_t)2 * op->centre * sum +
                     (int64_t)op->length * op->centre * op->centre;
        int32_t steps =
            cm_scaled_spread((uint64_t)spread, op->is_root, op->multiplier, op->shift, UINT16_MAX);
        int32_t most = INT16_MAX - op->zero_point;
        output[row] = (int16_t)((steps < most ? steps : most) + op->zero_point);
    }
}
