/* LSTM of int16 numbers, one layer and direction; see compiler/cmcompiler/ops/lstm.py. */
#include "cmrt/args/lstm_s16.h"
#include "cmrt/args/lstm_s16_clipped.h"
#include "cmrt/short_recurrence.h"

static inline void step_within(const struct cm_context *context, const struct cm_lstm_s16 *op, int32_t batch,
                               const int16_t *gates, int16_t *out, int32_t is_clipped, int32_t limit)
{
    const struct cm_gate_entry *table = cm_read(context, op->table);
    int32_t units = op->layer.units, bits = op->cell_bits;
    int16_t *cells = (int16_t *)cm_write(context, op->cell) + batch * units;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        int32_t kept = cm_gate_divide(cm_gate_sigmoid(table, gates[units]) * cells[i], 14);
        int32_t fresh = cm_gate_tanh(table, gates[2 * units], 0);
        int32_t added = cm_gate_divide(cm_gate_sigmoid(table, gates[0]) * fresh, 29 - bits);
        cells[i] = is_clipped ? (int16_t)cm_clamp(kept + added, -limit, limit) : cm_clamp_s16(kept + added);
        int32_t shown = is_clipped && bits > CM_GATE_BITS
                            ? cm_fine_tanh(table, cells[i], bits - CM_GATE_BITS)
                            : cm_gate_tanh(table, cells[i], CM_GATE_BITS - bits);
        out[i] = cm_narrow_s16(&op->narrowing, cm_gate_sigmoid(table, gates[3 * units]) * shown);
    }
}

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int16_t *out)
{
    step_within(context, arguments, batch, gates, out, 0, 0);
}

static void clipped_step(const struct cm_context *context, const void *arguments, int32_t batch,
                         const int16_t *gates, int16_t *out)
{
    const struct cm_lstm_s16_clipped *op = arguments;
    step_within(context, &op->lstm, batch, gates, out, 1, op->cell_limit);
}

/* Args:
     arguments: of `compute`. */
static void run(const struct cm_context *context, const struct cm_lstm_s16 *op, const void *arguments,
                cm_short_product *multiply, cm_short_step *compute)
{
    const struct cm_short_recurrence *layer = &op->layer;
    int32_t count = layer->batch * layer->units;
    cm_load_state(context, op->cell, op->initial_cell, count);
    if (op->initial_hidden != CM_REF_NONE)
        cm_load_short_rows(context, layer, op->initial_hidden, &op->initial);
    cm_short_recur(context, layer, (struct cm_gate_layout){4, 4, 0, 4}, multiply, compute, arguments);
    cm_store_state(context, op->cell, op->final_cell, count);
}

void cm_lstm_s16(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, call->arguments, cm_isa_gemm_s16, step);
}

/* With sums of any size. */
void cm_lstm_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, call->arguments, cm_isa_gemm_s16_long, step);
}

/* With weights of four bits. */
void cm_lstm_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, call->arguments, cm_isa_gemm_s16_w4, step);
}

void cm_lstm_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, call->arguments, cm_isa_gemm_s16_long_w4, step);
}

static void run_clipped(const struct cm_context *context, const struct cm_call *call,
                        cm_short_product *multiply)
{
    const struct cm_lstm_s16_clipped *op = call->arguments;
    run(context, &op->lstm, op, multiply, clipped_step);
}

void cm_lstm_s16_clipped(const struct cm_context *context, const struct cm_call *call)
{
    run_clipped(context, call, cm_isa_gemm_s16);
}

void cm_lstm_s16_long_clipped(const struct cm_context *context, const struct cm_call *call)
{
    run_clipped(context, call, cm_isa_gemm_s16_long);
}
