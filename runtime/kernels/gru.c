/* GRU of one layer and direction; see compiler/cmcompiler/ops/gru.py. */
#include "cmrt/args/gru.h"
#include "cmrt/recurrence.h"

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

static void run(const struct cm_context *context, const struct cm_gru *op, cm_gate_function *multiply)
{
    const struct cm_recurrence *layer = &op->layer;
    int32_t count = layer->batch * layer->units;
    cm_load_state(context, op->state, op->initial_state, count);
    if (op->initial_state != CM_REF_NONE)
        cm_load_rows(context, layer, op->initial_state, &op->narrowing);
    cm_recur(context, layer, (struct cm_gate_layout){4, 3, 1, 3}, multiply, step, op);
    cm_store_state(context, op->state, op->final_state, count);
}

void cm_gru(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemv_s16);
}

/* With weights of four bits. */
void cm_gru_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemv_s16_w4);
}
