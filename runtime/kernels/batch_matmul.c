/* Products of int8 matrices; see compiler/cmcompiler/ops/batch_matmul.py. */
#include "cmrt/args/batch_matmul.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"

void cm_batch_matmul(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_batch_matmul *op = call->arguments;
    struct cm_matmul matmul = {
        .lhs = cm_read(context, op->lhs),
        .rhs = cm_read(context, op->rhs),
        .out = cm_write(context, op->output),
        .column_sums = cm_write(context, op->column_sums),
        .rows = op->rows,
        .columns = op->columns,
        .depth = op->depth,
        .lhs_offset = op->lhs_offset,
        .rhs_offset = op->rhs_offset,
        .multiplier = op->multiplier,
        .shift = op->shift,
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
    for (int32_t n = 0; n < op->batch; ++n) {
        cm_isa_matmul_s8(&matmul);
        matmul.lhs += op->rows * op->depth;
        matmul.rhs += op->columns * op->depth;
        matmul.out += op->rows * op->columns;
    }
}
