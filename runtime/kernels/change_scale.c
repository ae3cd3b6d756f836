/* Quantised numbers of one scale in another; see compiler/cmcompiler/ops/change_scale.py. */
#include "cmrt/args/change_scale.h"
#include "cmrt/change_scale.h"
#include "cmrt/program.h"

void cm_change_scale(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_change_scale *op = call->arguments;
    cm_isa_change_scale(op, cm_read(context, op->input), cm_write(context, op->output));
}
