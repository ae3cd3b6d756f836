/* Quotient of quantised tensors, in floats; see compiler/cmcompiler/ops/div.py. */
#include "cmrt/args/div_quantized.h"
#include "cmrt/arithmetic.h"
#include "cmrt/nest.h"
#include "cmrt/rounding.h"

static int32_t load(const struct cm_div_quantized *op, const int8_t *base, int32_t index)
{
    return op->size == 1 ? base[index] : ((const int16_t *)(const void *)base)[index];
}

static int32_t quotient(const struct cm_div_quantized *op, int32_t over, int32_t under)
{
    if (under == 0)
        return op->zero_point;
    int32_t steps = cm_round_to_even((float)over / (float)under * cm_float(op->scale));
    return cm_clamp(steps, op->minimum - op->zero_point, op->maximum - op->zero_point) + op->zero_point;
}

static void divide_run(const struct cm_div_quantized *op, const int8_t *lhs, const int8_t *rhs,
                       int8_t *output)
{
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t over = load(op, lhs, i * op->lhs_step) - op->lhs_zero_point;
        int32_t under = load(op, rhs, i * op->rhs_step) - op->rhs_zero_point;
        int32_t value = quotient(op, over, under);
        if (op->size == 1)
            output[i] = (int8_t)value;
        else
            ((int16_t *)(void *)output)[i] = (int16_t)value;
    }
}

void cm_div_quantized(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_div_quantized *op = call->arguments;
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        divide_run(op, lhs + nest.offset[0], rhs + nest.offset[1], output + nest.offset[2]);
    while (cm_nest_next(&nest));
}
