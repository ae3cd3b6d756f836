/* Running sums and products along rows; see compiler/cmcompiler/ops/cumsum.py. */
#include "cmrt/args/cumsum.h"
#include "cmrt/element.h"
#include "cmrt/nest.h"

static void join_floats(const struct cm_cumsum *op, const float *input, float *output)
{
    float joined = input[0];
    output[0] = joined;
    for (int32_t i = 1; i < op->count; ++i) {
        float x = input[i * op->input_step];
        joined = op->product ? joined * x : joined + x;
        output[i * op->output_step] = joined;
    }
}

static void join_integers(const struct cm_cumsum *op, const void *input, int64_t *output)
{
    uint64_t joined = op->product ? 1 : 0;
    for (int32_t i = 0; i < op->count; ++i) {
        uint64_t x = (uint64_t)cm_load((enum cm_element)op->type, input, i * op->input_step);
        joined = op->product ? joined * x : joined + x;
        output[i * op->output_step] = (int64_t)joined;
    }
}

void cm_cumsum(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_cumsum *op = call->arguments;
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const void *input = (const uint8_t *)cm_read(context, op->input) + nest.offset[0];
        void *output = (uint8_t *)cm_write(context, op->output) + nest.offset[1];
        if (op->type == CM_FLOAT32)
            join_floats(op, input, output);
        else
            join_integers(op, input, output);
    } while (cm_nest_next(&nest));
}
