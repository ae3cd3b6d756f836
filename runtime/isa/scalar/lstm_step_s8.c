#include "cmrt/gates.h"

static inline void lstm_step(const struct cm_lstm_step *step, int32_t is_clipped)
{
    const struct cm_gate_entry *table = step->table;
    const int16_t *gates = step->gates;
    const struct cm_narrowing narrowing = step->narrowing;
    int16_t *cells = step->cell;
    int8_t *out = step->out;
    int32_t units = step->units, bits = step->cell_bits;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        int32_t kept = cm_gate_divide(cm_gate_sigmoid(table, gates[units]) * cells[i], 14);
        int32_t fresh = cm_gate_tanh(table, gates[2 * units], 0);
        int32_t added = cm_gate_divide(cm_gate_sigmoid(table, gates[0]) * fresh, 29 - bits);
        int32_t cell = is_clipped ? cm_clamp(kept + added, -step->cell_limit, step->cell_limit)
                                  : cm_clamp_s16(kept + added);
        cells[i] = (int16_t)cell;
        int32_t shown = is_clipped && bits > CM_GATE_BITS ? cm_fine_tanh(table, cell, bits - CM_GATE_BITS)
                                                          : cm_gate_tanh(table, cell, CM_GATE_BITS - bits);
        out[i] = cm_narrow(&narrowing, cm_gate_sigmoid(table, gates[3 * units]) * shown);
    }
}

void cm_isa_lstm_step_s8(const struct cm_lstm_step *step)
{
    lstm_step(step, 0);
}

void cm_isa_lstm_step_clipped_s8(const struct cm_lstm_step *step)
{
    lstm_step(step, 1);
}
