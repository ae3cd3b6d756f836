/* Integers times one factor or another; see compiler/cmcompiler/ops/two_slopes.py. */
#include "cmrt/args/two_slopes.h"
#include "cmrt/arithmetic.h"
#include "cmrt/element.h"
#include "cmrt/program.h"

/* The result of a negative number. */
static int32_t scale_below(const struct cm_two_slopes *op, int32_t x)
{
    int32_t signed_x = (int32_t)((uint32_t)op->below_sign * (uint32_t)x);
    if (op->below_multiplier < 0)
        return -cm_requantize(signed_x, -op->below_multiplier, op->below_shift);
    return cm_requantize(signed_x, op->below_multiplier, op->below_shift);
}

void cm_two_slopes(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_two_slopes *op = call->arguments;
    const void *input = cm_read(context, op->input);
    void *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t x = (int32_t)(cm_load((enum cm_element)op->source, input, i) - op->before);
        int64_t scaled = x < 0 ? scale_below(op, x) : cm_requantize(x, op->above_multiplier, op->above_shift);
        scaled += op->after;
        scaled = scaled < op->minimum ? op->minimum : scaled > op->maximum ? op->maximum : scaled;
        cm_store((enum cm_element)op->to, output, i, scaled);
    }
}
