/* Sums of int16 numbers; see compiler/cmcompiler/ops/quantized_sum.py. */
#include "cmrt/args/quantized_sum_s16.h"
#include "cmrt/arithmetic.h"

void cm_quantized_sum_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_sum_s16 *op = call->arguments;
    const int16_t *input = cm_read(context, op->input);
    int16_t *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->outer; ++i, input += op->members * op->inner)
        for (int32_t k = 0; k < op->inner; ++k) {
            int32_t sum = 0;
            for (int32_t j = 0; j < op->members; ++j)
                sum += input[j * op->inner + k];
            int32_t scaled = cm_requantize(sum, op->multiplier, op->shift);
            *output++ = (int16_t)cm_clamp(scaled, INT16_MIN, INT16_MAX);
        }
}
