/* Products of int8 matrices; see compiler/cmcompiler/ops/batch_matmul.py. */
#include "cmrt/args/batch_matmul.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"

void cm_batch_matmul(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_batch_matmul *op = call->arguments;
    const struct cm_matmul matmul = {
        .lhs = cm_read(context, op->lhs),
        .rhs = cm_read(context, op->rhs),
        .out = cm_write(context, op->output),
        .workspace = cm_write(context, op->workspace),
        .batch = op->batch,
        .rows = op->rows,
        .columns = op->columns,
        .depth = op->depth,
        .lhs_offset = op->lhs_offset,
        .rhs_offset = op->rhs_offset,
        .multiplier = op->multiplier,
        .shift = op->shift,
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
    cm_isa_matmul_s8(&matmul);
}
