/* Functions of int16 numbers; see compiler/cmcompiler/ops/interpolation.py. */
#include "cmrt/args/interpolation.h"
#include "cmrt/program.h"

enum { BITS = 6 };

void cm_interpolation(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_interpolation *op = call->arguments;
    const int16_t *input = cm_read(context, op->input), *table = cm_read(context, op->table);
    int16_t *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t x = input[i], size = x < 0 ? -x : x, octave = 0;
        const int16_t *entries = x < 0 ? table + op->entries : table;
        if (size < 1 << BITS) {
            output[i] = entries[size];
            continue;
        }
        while (size >> octave >= 2 << BITS)
            ++octave;
        int32_t place = ((octave + 1) << BITS) + ((size >> octave) & ((1 << BITS) - 1));
        int32_t rest = size & ((1 << octave) - 1), base = entries[place];
        if (rest != 0)
            base += ((entries[place + 1] - base) * rest + (1 << octave >> 1)) >> octave;
        output[i] = (int16_t)base;
    }
}
