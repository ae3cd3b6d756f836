/* Columns of rows that a run keeps; see compiler/cmcompiler/plan/runs/columns.py. */
#include "cmrt/args/copy_columns.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"

void cm_copy_columns(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_copy_columns *op = call->arguments;
    const int8_t *source = cm_read(context, op->source);
    int8_t *target = cm_write(context, op->target);
    for (int32_t y = call->y0; y < call->y1; ++y)
        cm_isa_copy_blocks_s8(target + y % op->target_ring * op->target_row, 0,
                              source + y % op->source_ring * op->source_row, 0, op->bytes, 1);
}
