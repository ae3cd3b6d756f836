/* ReLU with a slope per channel; see compiler/cmcompiler/ops/prelu.py for the arithmetic. */
#include "cmrt/args/prelu_rescaled.h"
#include "cmrt/args/prelu_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/program.h"

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
    cm_isa_prelu_s8(&slopes, input, output, op->channels, op->rows);
}

/* Each side has a multiplier of its own. */
static int32_t rescaled(const struct cm_prelu_rescaled *op, int32_t x, int32_t below)
{
    if (x >= 0)
        return cm_requantize(x, op->above_multiplier, op->above_shift);
    return cm_requantize(x * below, op->below_multiplier, op->below_shift);
}

void cm_prelu_rescaled_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_prelu_rescaled *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    const int32_t *below = cm_read(context, op->below);
    int8_t *output = cm_write(context, op->output);
    int32_t zero = op->zero_point;
    for (int32_t row = 0; row < op->rows; ++row)
        for (int32_t c = 0; c < op->channels; ++c) {
            int32_t scaled = rescaled(op, *input++ - op->input_zero_point, below[c]);
            *output++ = (int8_t)(cm_clamp(scaled, INT8_MIN - zero, INT8_MAX - zero) + zero);
        }
}

void cm_prelu_rescaled_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_prelu_rescaled *op = call->arguments;
    const int16_t *input = cm_read(context, op->input);
    const int32_t *below = cm_read(context, op->below);
    int16_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row)
        for (int32_t c = 0; c < op->channels; ++c)
            *output++ = (int16_t)cm_clamp(rescaled(op, *input++, below[c]), INT16_MIN, INT16_MAX);
}
