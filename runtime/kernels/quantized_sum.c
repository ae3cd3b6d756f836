/* Sums of int8 numbers; see compiler/cmcompiler/ops/quantized_sum.py. */
#include "cmrt/args/quantized_sum.h"
#include "cmrt/args/quantized_sum_rows.h"
#include "cmrt/arithmetic.h"
#include "cmrt/norm.h"
#include "cmrt/row_sums.h"

#include <string.h>

static int8_t result(const struct cm_sum_scale *scale, int32_t sum)
{
    int32_t scaled = cm_requantize(sum + scale->input_offset, scale->multiplier, scale->shift);
    int32_t zero = scale->zero_point;
    return (int8_t)(cm_clamp(scaled, INT8_MIN - zero, INT8_MAX - zero) + zero);
}

void cm_quantized_sum(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_sum *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    int32_t *sums = cm_write(context, op->sums);
    for (int32_t i = 0; i < op->outer; ++i, input += op->members * op->inner) {
        if (op->inner == 1) {
            int32_t sum = 0, squares = 0;
            cm_isa_moments_s8(input, op->members, &sum, &squares);
            *output++ = result(&op->scale, sum);
            continue;
        }
        memset(sums, 0, sizeof *sums * (size_t)op->inner);
        cm_isa_add_rows_s8(input, op->members, op->inner, sums);
        for (int32_t k = 0; k < op->inner; ++k)
            *output++ = result(&op->scale, sums[k]);
    }
}

void cm_quantized_sum_rows(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_sum_rows *op = call->arguments;
    const int32_t *sums = cm_add_to_sums(context, &op->total, call);
    if (sums == NULL)
        return;
    int8_t *output = cm_write(context, op->output);
    for (int32_t channel = 0; channel < op->total.input.channels; ++channel)
        output[channel] = result(&op->scale, sums[channel]);
}
