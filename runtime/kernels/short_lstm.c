/* LSTM of int16 numbers, one layer and direction; see compiler/cmcompiler/ops/lstm.py. */
#include "cmrt/args/lstm_s16.h"
#include "cmrt/short_recurrence.h"

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int16_t *out)
{
    const struct cm_lstm_s16 *op = arguments;
    const struct cm_gate_entry *table = cm_read(context, op->table);
    int32_t units = op->layer.units, bits = op->cell_bits;
    int16_t *cells = (int16_t *)cm_write(context, op->cell) + batch * units;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        int32_t kept = cm_gate_divide(cm_gate_sigmoid(table, gates[units]) * cells[i], 14);
        int32_t fresh = cm_gate_tanh(table, gates[2 * units], 0);
        int32_t added = cm_gate_divide(cm_gate_sigmoid(table, gates[0]) * fresh, 29 - bits);
        cells[i] = cm_clamp_s16(kept + added);
        int32_t shown = cm_gate_tanh(table, cells[i], CM_GATE_BITS - bits);
        out[i] = cm_narrow_s16(&op->narrowing, cm_gate_sigmoid(table, gates[3 * units]) * shown);
    }
}

static void run(const struct cm_context *context, const struct cm_lstm_s16 *op, cm_short_product *multiply)
{
    const struct cm_short_recurrence *layer = &op->layer;
    int32_t count = layer->batch * layer->units;
    cm_load_state(context, op->cell, op->initial_cell, count);
    if (op->initial_hidden != CM_REF_NONE)
        cm_load_short_rows(context, layer, op->initial_hidden, &op->initial);
    cm_short_recur(context, layer, (struct cm_gate_layout){4, 4, 0, 4}, multiply, step, op);
    cm_store_state(context, op->cell, op->final_cell, count);
}

void cm_lstm_s16(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16);
}

/* With sums of any size. */
void cm_lstm_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_long);
}

/* With weights of four bits. */
void cm_lstm_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_w4);
}

void cm_lstm_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_long_w4);
}
