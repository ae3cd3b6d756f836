/* GRU of one layer and direction; see compiler/cmcompiler/ops/gru.py. */
#include "cmrt/recurrence.h"

struct cm_gru {
    struct cm_recurrence layer;
    cm_ref table, initial_state, final_state, state;
    int32_t state_bits;
    struct cm_narrowing narrowing;
};

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int8_t *out)
{
    const struct cm_gru *op = arguments;
    struct cm_gru_step gru = {
        .gates = gates,
        .state = (int16_t *)cm_write(context, op->state) + batch * op->layer.units,
        .out = out,
        .table = cm_read(context, op->table),
        .units = op->layer.units,
        .state_bits = op->state_bits,
        .narrowing = op->narrowing,
    };
    cm_isa_gru_step_s8(&gru);
}

void cm_gru(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_gru *op = call->arguments;
    const struct cm_recurrence *layer = &op->layer;
    int32_t units = layer->units, count = layer->batch * units;
    const int16_t *state = cm_load_state(context, op->state, op->initial_state, op->state_bits, count);
    if (op->initial_state != CM_REF_NONE) {
        int8_t *row = (int8_t *)cm_write(context, layer->output) - layer->output_step;
        for (int32_t n = 0; n < layer->batch; ++n, row += layer->output_batch)
            for (int32_t i = 0; i < units; ++i)
                row[i] = cm_narrow(&op->narrowing, *state++);
    }
    cm_recur(context, layer, (struct cm_gate_layout){4, 3, 1, 3}, step, op);
    cm_store_state(context, op->state, op->final_state, op->state_bits, count);
}
