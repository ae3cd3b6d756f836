/* Multiples of floats; see ops/scale.py. */
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

struct cm_scale_f32 {
    cm_ref input, output;
    int32_t count;
    uint32_t factor; /* float */
};

void cm_scale_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_scale_f32 *op = call->arguments;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i)
        output[i] = input[i] * cm_float(op->factor);
}
