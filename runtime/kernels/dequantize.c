/* Quantised numbers to floats; see compiler/cmcompiler/ops/dequantize.py. */
#include "cmrt/args/dequantize.h"
#include "cmrt/args/dequantize_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/program.h"

void cm_dequantize_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_dequantize_s8 *op = call->arguments;
    cm_isa_dequantize_s8(cm_read(context, op->input), op->zero_point, cm_float(op->scale),
                         cm_write(context, op->output), op->count);
}

/* Like dequantize_s8, for the rarer, wider types. */
void cm_dequantize(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_dequantize *op = call->arguments;
    const uint8_t *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    float scale = cm_float(op->scale);
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t value = op->size == 1 ? input[i] : ((const int16_t *)(const void *)input)[i];
        output[i] = (float)(value - op->zero_point) * scale;
    }
}
