#include "cmrt/gates.h"

void cm_isa_gru_step_s8(const struct cm_gru_step *step)
{
    const struct cm_gate_entry *table = step->table;
    const int16_t *gates = step->gates;
    int32_t units = step->units, bits = step->state_bits;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        int16_t state = cm_gru_state(table, gates, units, step->state[i], bits);
        step->state[i] = state;
        step->out[i] = cm_narrow(&step->narrowing, state);
    }
}
