#include "cmrt/gates.h"

void cm_isa_lstm_step_s8(const struct cm_lstm_step *step)
{
    const struct cm_gate_entry *table = step->table;
    const int16_t *gates = step->gates;
    int32_t units = step->units, left = CM_GATE_BITS - step->cell_bits;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        int32_t input = cm_gate_sigmoid(table, gates[0]);
        int32_t forget = cm_gate_sigmoid(table, gates[units]);
        int32_t fresh = cm_gate_tanh(table, gates[2 * units], 0);
        int32_t output = cm_gate_sigmoid(table, gates[3 * units]);
        /* Halving rounds up, the shift rounds away from zero: CMSIS-NN's way to a power of two. */
        int32_t kept = cm_rounding_shift_right((forget * step->cell[i] + 1) >> 1, 14);
        int32_t added = cm_rounding_shift_right((input * fresh + 1) >> 1, 29 - step->cell_bits);
        int32_t cell = cm_clamp_s16(kept + added);
        step->cell[i] = (int16_t)cell;
        step->out[i] = cm_narrow(&step->narrowing, output * cm_gate_tanh(table, cell, left));
    }
}
