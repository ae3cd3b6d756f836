/* Sum of quantised tensors; see compiler/cmcompiler/ops/add.py. */
#include "cmrt/affine.h"
#include "cmrt/args/add_affine_s8.h"
#include "cmrt/args/add_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_add_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_add_s8 *op = call->arguments;
    const struct cm_sum sum = {
        .lhs = {op->lhs_zero_point, op->lhs_multiplier, op->lhs_shift},
        .rhs = {op->rhs_zero_point, op->rhs_multiplier, op->rhs_shift},
        .output = {op->zero_point, op->multiplier, op->shift},
        .minimum = op->minimum,
        .maximum = op->maximum,
    };
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_add_s8(&sum, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step, output + nest.offset[2],
                      op->count);
    while (cm_nest_next(&nest));
}

/* Like add_s8, if the host has found that one multiplication per operand gives the same result. */
void cm_add_affine_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_add_affine_s8 *op = call->arguments;
    const struct cm_affine affine = cm_affine_of(op);
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_add_affine_s8(&affine, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step,
                             output + nest.offset[2], op->count);
    while (cm_nest_next(&nest));
}
