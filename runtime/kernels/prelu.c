/* ReLU with a slope per channel; see compiler/cmcompiler/ops/prelu.py for the arithmetic. */
#include "cmrt/elementwise.h"
#include "cmrt/program.h"

struct cm_prelu_s8 {
    cm_ref input, output, below;
    int32_t rows, channels;
    int32_t above, shift, input_zero_point, offset;
};

void cm_prelu_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_prelu_s8 *op = call->arguments;
    const struct cm_slopes slopes = {
        .below = cm_read(context, op->below),
        .above = op->above,
        .zero_point = op->input_zero_point,
        .offset = op->offset,
        .shift = op->shift,
    };
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->channels, output += op->channels)
        cm_isa_prelu_s8(&slopes, input, output, op->channels);
}
