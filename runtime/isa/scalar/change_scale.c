#include "cmrt/change_scale.h"

/* Networks change to and from int16: a loop for each. */
void cm_isa_change_scale(const struct cm_change_scale *op, const void *in, void *out)
{
    if (op->source == 2 && op->to == 1)
        cm_change_scale_all(*op, in, out, 2, 1);
    else if (op->source == 1 && op->to == 2)
        cm_change_scale_all(*op, in, out, 1, 2);
    else if (op->source == 2 && op->to == 2)
        cm_change_scale_all(*op, in, out, 2, 2);
    else
        cm_change_scale_all(*op, in, out, op->source, op->to);
}
