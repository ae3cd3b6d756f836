/* Softmax over rows of floats, and its logarithm; see compiler/cmcompiler/ops/float_softmax.py. */
#include "cmrt/functions.h"
#include "cmrt/program.h"

struct cm_softmax_f32 {
    cm_ref input, output;
    int32_t rows, length;
};

static float largest(const float *row, int32_t length)
{
    float result = row[0];
    for (int32_t i = 1; i < length; ++i)
        if (row[i] > result)
            result = row[i];
    return result;
}

void cm_softmax_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_softmax_f32 *op = call->arguments;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length, output += op->length) {
        float most = largest(input, op->length), sum = 0;
        for (int32_t i = 0; i < op->length; ++i) {
            output[i] = cm_exp(input[i] - most);
            sum += output[i];
        }
        for (int32_t i = 0; i < op->length; ++i)
            output[i] /= sum;
    }
}

struct cm_log_softmax_f32 {
    cm_ref input, output;
    int32_t rows, length;
};

void cm_log_softmax_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_log_softmax_f32 *op = call->arguments;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length, output += op->length) {
        float most = largest(input, op->length), sum = 0;
        for (int32_t i = 0; i < op->length; ++i)
            sum += cm_exp(input[i] - most);
        float logarithm = cm_log(sum);
        for (int32_t i = 0; i < op->length; ++i)
            output[i] = (input[i] - most) - logarithm;
    }
}
