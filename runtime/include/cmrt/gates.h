/* Gates of recurrent layers; see compiler/cmcompiler/ops/support/gates.py for the arithmetic. */
#ifndef CMRT_GATES_H
#define CMRT_GATES_H

#include "cmrt/args/narrowing.h"
#include "cmrt/arithmetic.h"
#include "cmrt/microkernel.h"

/* Constant weights, packed as packing.py says in gemv16_weights. */
struct cm_gate_weights {
    const void *packed;
    int32_t depth, gates, rounding;
};

/* gates[g] += bias[g] + sum over k < depth of row[k] * weights[g][k], rescaled and saturated. `workspace` is
   of the size that packing.py says in gemv_workspace. */
CM_MICROKERNEL void cm_isa_gemv_s16(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                                    void *workspace);
/* The same with weights of four bits behind a struct cm_nibbles, or of eight bits if that says so. */
CM_MICROKERNEL void cm_isa_gemv_s16_w4(const struct cm_gate_weights *weights, const int8_t *row,
                                       int16_t *gates, void *workspace);

/* Copies `count` numbers, from a place of their own or a higher address; returns `sum` plus their products
   with the weights, modulo 2^32. */
CM_MICROKERNEL int32_t cm_isa_filter_s16(const int16_t *from, int16_t *to, const int16_t *weights,
                                         int32_t count, int32_t sum);

/* An entry of the table of sigmoid and tanh. */
struct cm_gate_entry {
    uint16_t base, step;
};

/* One step of an LSTM. Gates of each unit: input, forget, cell, output. */
struct cm_lstm_step {
    const int16_t *gates;
    int16_t *cell; /* of cell_bits fractional bits */
    int8_t *out;
    const struct cm_gate_entry *table;
    int32_t units, cell_bits;
    struct cm_narrowing narrowing; /* of 30 fractional bits */
    int32_t cell_limit;            /* of the clipped step: the largest magnitude of a cell */
};
CM_MICROKERNEL void cm_isa_lstm_step_s8(const struct cm_lstm_step *step);
/* With a limit for cells, which may have up to 28 fractional bits instead of 12. */
CM_MICROKERNEL void cm_isa_lstm_step_clipped_s8(const struct cm_lstm_step *step);

/* One step of a GRU. Gates of each unit: new from the input, reset, update, new from the state. */
struct cm_gru_step {
    const int16_t *gates;
    int16_t *state; /* of state_bits fractional bits */
    int8_t *out;
    const struct cm_gate_entry *table;
    int32_t units, state_bits;
    struct cm_narrowing narrowing; /* of state_bits fractional bits */
};
CM_MICROKERNEL void cm_isa_gru_step_s8(const struct cm_gru_step *step);

/* out = narrow(tanh(gate)), or narrow(max(gate, 0)) without a table. */
CM_MICROKERNEL void cm_isa_rnn_step_s8(const int16_t *gates, const struct cm_gate_entry *table,
                                       const struct cm_narrowing *narrowing, int8_t *out, int32_t units);

/* In plain C. */

enum {
    CM_GATE_BITS = 12,               /* fractional bits of a gate */
    CM_FARTHEST_TANH = 255 * 256 / 3 /* with as many, from here on tanh takes the last entry */
};

static inline int16_t cm_clamp_s16(int32_t x)
{
    return (int16_t)(x == (int16_t)x ? x : INT16_MAX ^ x >> 31);
}

/* Of 15 fractional bits. */
static inline int32_t cm_gate_sigmoid(const struct cm_gate_entry *table, int32_t gate)
{
    int32_t steps = 3 * (gate < 0 ? -gate : gate);
    struct cm_gate_entry entry = table[steps >> 9];
    int32_t distance = (entry.base + ((steps & 511) * entry.step >> 9) + 1) >> 1;
    return (1 << 14) + (gate < 0 ? -distance : distance);
}

/* Of 15 fractional bits, of three times an argument. */
static inline int32_t cm_tanh_of_steps(const struct cm_gate_entry *table, int32_t steps)
{
    int32_t magnitude = steps < 0 ? -steps : steps;
    struct cm_gate_entry entry = table[magnitude >> 8];
    int32_t result = entry.base + (((magnitude & 255) * entry.step + 128) >> 8);
    return steps < 0 ? -result : result;
}

/* Of 15 fractional bits; the argument has `left` fewer fractional bits than a gate. */
static inline int32_t cm_gate_tanh(const struct cm_gate_entry *table, int32_t gate, int32_t left)
{
    int32_t magnitude = (gate < 0 ? -gate : gate) << left;
    int32_t steps = 3 * (magnitude < CM_FARTHEST_TANH ? magnitude : CM_FARTHEST_TANH);
    return cm_tanh_of_steps(table, gate < 0 ? -steps : steps);
}

/* Of 15 fractional bits; the argument has `right` more fractional bits than a gate, one at least. */
static inline int32_t cm_fine_tanh(const struct cm_gate_entry *table, int32_t x, int32_t right)
{
    return cm_tanh_of_steps(table, (3 * x + (1 << (right - 1))) >> right);
}

/* x * 2^-(bits + 1): CMSIS-NN halves with halves rounded up, then shifts by 1 to 29 bits with halves rounded
   away from zero. */
static inline int32_t cm_gate_divide(int32_t x, int32_t bits)
{
    int32_t half = (x + 1) >> 1;
    return (half + (half >> 31) + (1 << (bits - 1))) >> bits;
}

/* The state of a GRU's unit after a step. Gates lie `units` apart. */
static inline int16_t cm_gru_state(const struct cm_gate_entry *table, const int16_t *gates, int32_t units,
                                   int32_t state, int32_t state_bits)
{
    int32_t reset = cm_gate_sigmoid(table, gates[units]);
    int32_t update = cm_gate_sigmoid(table, gates[2 * units]);
    int32_t from_state = (reset * gates[3 * units] + (1 << 14)) >> 15;
    int32_t fresh = cm_gate_tanh(table, cm_clamp_s16(gates[0] + from_state), 0);
    int32_t sum = update * state + ((((1 << 15) - update) * fresh) >> (15 - state_bits));
    return (int16_t)((sum + (1 << 14)) >> 15);
}

static inline int8_t cm_narrow(const struct cm_narrowing *narrowing, int32_t x)
{
    int32_t scaled = cm_requantize(x, narrowing->multiplier, narrowing->shift);
    int32_t low = INT8_MIN - narrowing->zero_point, high = INT8_MAX - narrowing->zero_point;
    return (int8_t)(cm_clamp(scaled, low, high) + narrowing->zero_point);
}

#endif
