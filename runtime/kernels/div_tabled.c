/* Quotients of quantised tensors by a factor for each divisor; see compiler/cmcompiler/ops/div.py. */
#include "cmrt/args/div_tabled_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_div_tabled_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_div_tabled_s8 *op = call->arguments;
    const struct cm_tabled_quotient quotient = {
        .factors = cm_read(context, op->factors),
        .lhs_zero_point = op->lhs_zero_point,
        .zero_point = op->zero_point,
        .lhs_step = op->lhs_step,
    };
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_div_tabled_s8(&quotient, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step,
                             output + nest.offset[2], op->count);
    while (cm_nest_next(&nest));
}
