/* Elementwise ops on pairs of int16 tensors; see compiler/cmcompiler/ops/add.py, mul.py and minimum.py. A
   file of their own leaves the code of the int8 ones as it is. */
#include "cmrt/args/add_s16.h"
#include "cmrt/args/maximum.h"
#include "cmrt/args/minimum.h"
#include "cmrt/args/mul_s16.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_add_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_add_s16 *op = call->arguments;
    const struct cm_sum sum = {
        .lhs = {0, op->lhs_multiplier, op->lhs_shift},
        .rhs = {0, op->rhs_multiplier, op->rhs_shift},
        .output = {0, op->multiplier, op->shift},
        .minimum = op->minimum,
        .maximum = op->maximum,
    };
    const void *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    void *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_add_s16(&sum, cm_nest_short(&nest, 0, lhs), cm_nest_short(&nest, 1, rhs), op->rhs_step,
                       cm_nest_short_output(&nest, 2, output), op->count);
    while (cm_nest_next(&nest));
}

void cm_mul_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_mul_s16 *op = call->arguments;
    const struct cm_short_product product = {op->multiplier, op->shift, op->minimum, op->maximum};
    const void *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    void *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_mul_s16(&product, cm_nest_short(&nest, 0, lhs), cm_nest_short(&nest, 1, rhs), op->rhs_step,
                       cm_nest_short_output(&nest, 2, output), op->count);
    while (cm_nest_next(&nest));
}

void cm_minimum_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_minimum *op = call->arguments;
    const void *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    void *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_minimum_s16(cm_nest_short(&nest, 0, lhs), cm_nest_short(&nest, 1, rhs), op->rhs_step,
                           cm_nest_short_output(&nest, 2, output), op->count);
    while (cm_nest_next(&nest));
}

void cm_maximum_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_maximum *op = call->arguments;
    const void *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    void *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        cm_isa_maximum_s16(cm_nest_short(&nest, 0, lhs), cm_nest_short(&nest, 1, rhs), op->rhs_step,
                           cm_nest_short_output(&nest, 2, output), op->count);
    while (cm_nest_next(&nest));
}
