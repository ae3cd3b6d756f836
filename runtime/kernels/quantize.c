/* Floats to quantised numbers; see compiler/cmcompiler/ops/quantize.py. */
#include "cmrt/args/quantize.h"
#include "cmrt/args/quantize_divided.h"
#include "cmrt/args/quantize_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/program.h"
#include "cmrt/rounding.h"

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

/* x to the nearest integer, halves away from zero, within 2^24; NaN gives 0. */
static int32_t round_away(float x)
{
    const float most = 16777216.0f;
    if (!(x < most))
        return x >= most ? 1 << 24 : 0;
    if (x <= -most)
        return -(1 << 24);
    int32_t whole = (int32_t)x;
    float rest = x - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

void cm_quantize_divided(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantize_divided *op = call->arguments;
    const float *input = cm_read(context, op->input);
    uint8_t *output = cm_write(context, op->output);
    float scale = cm_float(op->scale);
    int32_t minimum = op->minimum - op->zero_point, maximum = op->maximum - op->zero_point;
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t value = cm_clamp(round_away(input[i] / scale), minimum, maximum) + op->zero_point;
        if (op->size == 1)
            output[i] = (uint8_t)value;
        else
            ((int16_t *)output)[i] = (int16_t)value;
    }
}
