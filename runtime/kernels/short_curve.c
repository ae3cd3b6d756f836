/* Sigmoid and hyperbolic tangent of int16 numbers; see compiler/cmcompiler/ops/short_curve.py. */
#include "cmrt/args/short_curve.h"
#include "cmrt/gates.h"
#include "cmrt/program.h"

enum { LAST = 255, HALF = 1 << 15 };

static int32_t sigmoid(const struct cm_gate_entry *table, int32_t x)
{
    int32_t magnitude = x < 0 ? -x : x, place = magnitude >> 9;
    int32_t value = 0x7fff << 10;
    if (place < LAST)
        value = ((table[place].base + HALF) << 9) + (magnitude & 511) * table[place].step;
    return ((x < 0 ? (1 << 25) - value - 1 : value) + (1 << 9)) >> 10;
}

static int32_t tanh_of(const struct cm_gate_entry *table, int32_t x)
{
    int32_t magnitude = x < 0 ? -x : x, place = magnitude >> 8;
    int32_t value = 0xffff << 8;
    if (place < LAST)
        value = ((table[place].base + HALF) << 8) + (magnitude & 255) * table[place].step;
    value -= 1 << 23;
    return (x < 0 ? (1 << 7) - value - 1 : value + (1 << 7)) >> 8;
}

void cm_short_curve(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_curve *op = call->arguments;
    const int16_t *input = cm_read(context, op->input);
    const struct cm_gate_entry *table = cm_read(context, op->table);
    int16_t *output = cm_write(context, op->output);
    const int32_t rounding = (int32_t)((UINT32_C(1) << op->shift) >> 1);
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t x = (input[i] * op->multiplier + rounding) >> op->shift;
        output[i] = (int16_t)(op->is_tanh != 0 ? tanh_of(table, x) : sigmoid(table, x));
    }
}
