/* A function of an int8 element, by table. */
#include "cmrt/args/activation_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/program.h"

void cm_activation_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_activation_s8 *op = call->arguments;
    cm_isa_lookup_s8(cm_read(context, op->input), cm_read(context, op->table), cm_write(context, op->output),
                     op->count);
}
