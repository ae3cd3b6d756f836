/* Elementwise maximum of int8 tensors. */
#include "cmrt/args/maximum.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_maximum_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_maximum *op = call->arguments;
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_maximum_s8(lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step, output + nest.offset[2],
                          op->count);
    while (cm_nest_next(&nest));
}
