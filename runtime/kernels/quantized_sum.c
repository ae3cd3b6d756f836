/* Sums of int8 numbers; see compiler/cmcompiler/ops/quantized_sum.py. */
#include "cmrt/add_rows.h"
#include "cmrt/arithmetic.h"
#include "cmrt/norm.h"
#include "cmrt/program.h"

#include <string.h>

struct cm_quantized_sum {
    cm_ref input, output, sums;
    int32_t outer, members, inner;
    int32_t input_offset;
    int32_t zero_point, multiplier, shift;
};

static int8_t result(const struct cm_quantized_sum *op, int32_t sum)
{
    int32_t scaled = cm_requantize(sum + op->input_offset, op->multiplier, op->shift);
    return (int8_t)(cm_clamp(scaled, INT8_MIN - op->zero_point, INT8_MAX - op->zero_point) + op->zero_point);
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
            *output++ = result(op, sum);
            continue;
        }
        memset(sums, 0, sizeof *sums * (size_t)op->inner);
        cm_isa_add_rows_s8(input, op->members, op->inner, sums);
        for (int32_t k = 0; k < op->inner; ++k)
            *output++ = result(op, sums[k]);
    }
}
