/* Lengths of pairs of int16 numbers; see compiler/cmcompiler/ops/short_length.py. */
#include "cmrt/args/short_length.h"
#include "cmrt/norm.h"
#include "cmrt/program.h"

void cm_short_length(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_length *op = call->arguments;
    const int16_t *xs = cm_read(context, op->x), *ys = cm_read(context, op->y);
    int16_t *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i) {
        uint64_t x = (uint32_t)(xs[i] * xs[i]), y = (uint32_t)(ys[i] * ys[i]);
        uint64_t squares = x * (uint32_t)op->x_factor + y * (uint32_t)op->y_factor;
        int32_t steps = cm_scaled_spread(squares, 1, op->multiplier, op->shift, INT16_MAX);
        output[i] = (int16_t)(steps < INT16_MAX ? steps : INT16_MAX);
    }
}
