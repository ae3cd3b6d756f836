/* Functions of int16 numbers by every 128th one; see compiler/cmcompiler/ops/short_table.py. */
#include "cmrt/args/short_table.h"
#include "cmrt/program.h"

enum { STEP_BITS = 7, STEP = 1 << STEP_BITS, MIDDLE = 256 };

void cm_short_table(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_table *op = call->arguments;
    const int16_t *input = cm_read(context, op->input), *table = cm_read(context, op->table);
    int16_t *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t x = input[i], rest = x & (STEP - 1);
        const int16_t *entry = table + (x - rest) / STEP + MIDDLE;
        output[i] = (int16_t)(entry[0] + (((entry[1] - entry[0]) * rest + STEP / 2) >> STEP_BITS));
    }
}
