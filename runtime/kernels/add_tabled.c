/* Sums of quantised tensors through tables; see compiler/cmcompiler/ops/add.py. */
#include "cmrt/args/add_tabled_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/joined_pairs.h"
#include "cmrt/nest.h"

static struct cm_tabled_sum parameters(const struct cm_context *context, const struct cm_add_tabled_s8 *op)
{
    return (struct cm_tabled_sum){
        .lhs_table = cm_read(context, op->lhs_table),
        .rhs_table = cm_read(context, op->rhs_table),
        .output = {op->zero_point, op->multiplier, op->shift},
        .minimum = op->minimum,
        .maximum = op->maximum,
    };
}

void cm_add_tabled_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_add_tabled_s8 *op = call->arguments;
    const struct cm_tabled_sum sum = parameters(context, op);
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_add_tabled_s8(&sum, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step,
                             output + nest.offset[2], op->count);
    while (cm_nest_next(&nest));
}

static void add(const void *sum, const int8_t *lhs, const int8_t *rhs, int8_t *out, int32_t count)
{
    cm_isa_add_tabled_s8(sum, lhs, rhs, 1, out, count);
}

void cm_add_tabled_s8_joined(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_add_tabled_s8 *op = call->arguments;
    const struct cm_tabled_sum sum = parameters(context, op);
    const struct cm_pair_operands pair = CM_PAIR_OPERANDS(op);
    cm_joined_pairs(context, &pair, add, &sum);
}
