/* Running sums along rows; see compiler/cmcompiler/ops/cumsum.py. */
#include "cmrt/element.h"
#include "cmrt/nest.h"

struct cm_cumsum {
    cm_ref input, output;
    cm_ref levels;
    int32_t depth, count;
    int32_t input_step, output_step; /* in elements */
    int32_t type;                    /* of the input, enum cm_element */
};

static void sum_floats(const struct cm_cumsum *op, const float *input, float *output)
{
    float sum = input[0];
    output[0] = sum;
    for (int32_t i = 1; i < op->count; ++i) {
        sum += input[i * op->input_step];
        output[i * op->output_step] = sum;
    }
}

static void sum_integers(const struct cm_cumsum *op, const void *input, int64_t *output)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < op->count; ++i) {
        sum += (uint64_t)cm_load((enum cm_element)op->type, input, i * op->input_step);
        output[i * op->output_step] = (int64_t)sum;
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
            sum_floats(op, input, output);
        else
            sum_integers(op, input, output);
    } while (cm_nest_next(&nest));
}
