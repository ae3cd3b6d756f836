/* Softmax over rows of floats, and its logarithm; see compiler/cmcompiler/ops/float_softmax.py. */
#include "cmrt/args/log_softmax_f32.h"
#include "cmrt/args/softmax_f32.h"
#include "cmrt/exp.h"
#include "cmrt/functions.h"
#include "cmrt/program.h"

static float largest(const float *row, int32_t length)
{
    float result = row[0];
    for (const float *x = row, *end = row + length; x < end; ++x)
        if (*x > result)
            result = *x;
    return result;
}

static float sum_of(const float *row, int32_t length)
{
    float sum = 0;
    for (const float *x = row, *end = row + length; x < end; ++x)
        sum += *x;
    return sum;
}

void cm_softmax_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_softmax_f32 *op = call->arguments;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length) {
        cm_isa_exp_f32(input, largest(input, op->length), output, op->length);
        float sum = sum_of(output, op->length);
        for (const float *end = output + op->length; output < end; ++output)
            *output /= sum;
    }
}

void cm_log_softmax_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_log_softmax_f32 *op = call->arguments;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row) {
        float most = largest(input, op->length), sum = 0;
        for (int32_t i = 0; i < op->length; ++i)
            sum += cm_exp(input[i] - most);
        float logarithm = cm_log(sum);
        for (int32_t i = 0; i < op->length; ++i)
            *output++ = (*input++ - most) - logarithm;
    }
}
