/* Squared differences of quantised tensors; see compiler/cmcompiler/ops/squared_difference.py. */
#include "cmrt/args/squared_difference_s16.h"
#include "cmrt/args/squared_difference_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_squared_difference_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_squared_difference_s8 *op = call->arguments;
    const struct cm_squared_difference difference = {
        .lhs_table = cm_read(context, op->lhs_table),
        .rhs_table = cm_read(context, op->rhs_table),
        .output = {op->zero_point, op->multiplier, op->shift},
    };
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_squared_difference_s8(&difference, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step,
                                     output + nest.offset[2], op->count);
    while (cm_nest_next(&nest));
}

void cm_squared_difference_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_squared_difference_s16 *op = call->arguments;
    const struct cm_short_difference difference = {
        .lhs = {0, op->lhs_multiplier, op->lhs_shift},
        .rhs = {0, op->rhs_multiplier, op->rhs_shift},
        .output = {0, op->multiplier, op->shift},
    };
    const void *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    void *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_squared_difference_s16(&difference, cm_nest_short(&nest, 0, lhs), cm_nest_short(&nest, 1, rhs),
                                      op->rhs_step, cm_nest_short_output(&nest, 2, output), op->count);
    while (cm_nest_next(&nest));
}
