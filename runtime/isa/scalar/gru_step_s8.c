#include "cmrt/gates.h"

void cm_isa_gru_step_s8(const struct cm_gru_step *step)
{
    const struct cm_gate_entry *table = step->table;
    const int16_t *gates = step->gates;
    int32_t units = step->units, right = 15 - step->state_bits;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        int32_t reset = cm_gate_sigmoid(table, gates[units]);
        int32_t update = cm_gate_sigmoid(table, gates[2 * units]);
        int32_t from_state = (reset * gates[3 * units] + (1 << 14)) >> 15;
        int32_t fresh = cm_gate_tanh(table, cm_clamp_s16(gates[0] + from_state), 0);
        int32_t sum = update * step->state[i] + ((((1 << 15) - update) * fresh) >> right);
        int32_t state = (sum + (1 << 14)) >> 15;
        step->state[i] = (int16_t)state;
        step->out[i] = cm_narrow(&step->narrowing, state);
    }
}
