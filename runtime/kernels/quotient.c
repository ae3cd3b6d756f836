/* Quotients of quantised tensors; see compiler/cmcompiler/ops/quotient.py. */
#include "cmrt/args/quotient_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_quotient_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quotient_s8 *op = call->arguments;
    const struct cm_quotient quotient = {
        .reciprocals = cm_read(context, op->reciprocals),
        .dividend_zero_point = op->dividend_zero_point,
        .divisor_zero_point = op->divisor_zero_point,
        .output = {op->zero_point, op->multiplier, op->shift},
        .swapped = op->swapped,
    };
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_quotient_s8(&quotient, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step,
                           output + nest.offset[2], op->count);
    while (cm_nest_next(&nest));
}
