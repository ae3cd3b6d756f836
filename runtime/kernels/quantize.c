/* Floats to quantised numbers; see compiler/cmcompiler/ops/quantize.py. */
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/program.h"
#include "cmrt/rounding.h"

struct cm_quantize_s8 {
    cm_ref input, output;
    int32_t count;
    uint32_t inverse_scale; /* float */
    int32_t zero_point, minimum, maximum;
};

void cm_quantize_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantize_s8 *op = call->arguments;
    const struct cm_quantize_parameters to = {
        .inverse_scale = cm_float(op->inverse_scale),
        .zero_point = op->zero_point,
        .minimum = op->minimum,
        .maximum = op->maximum,
    };
    cm_isa_quantize_s8(&to, cm_read(context, op->input), cm_write(context, op->output), op->count);
}

/* Like quantize_s8, for the rarer, wider types. */
struct cm_quantize {
    cm_ref input, output;
    int32_t count;
    uint32_t inverse_scale; /* float */
    int32_t zero_point, minimum, maximum;
    int32_t size; /* bytes of an element: 1 or 2 */
};

void cm_quantize(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantize *op = call->arguments;
    const float *input = cm_read(context, op->input);
    uint8_t *output = cm_write(context, op->output);
    float inverse_scale = cm_float(op->inverse_scale);
    int32_t minimum = op->minimum - op->zero_point, maximum = op->maximum - op->zero_point;
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t steps = cm_round_to_even(input[i] * inverse_scale);
        int32_t value = cm_clamp(steps, minimum, maximum) + op->zero_point;
        if (op->size == 1)
            output[i] = (uint8_t)value;
        else
            ((int16_t *)output)[i] = (int16_t)value;
    }
}
