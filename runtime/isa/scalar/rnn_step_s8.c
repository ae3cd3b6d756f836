#include "cmrt/gates.h"

#include <stddef.h>

void cm_isa_rnn_step_s8(const int16_t *gates, const struct cm_gate_entry *table,
                        const struct cm_narrowing *narrowing, int8_t *out, int32_t units)
{
    for (int32_t i = 0; i < units; ++i) {
        int32_t x = gates[i];
        out[i] = cm_narrow(narrowing, table != NULL ? cm_gate_tanh(table, x, 0) : x > 0 ? x : 0);
    }
}
