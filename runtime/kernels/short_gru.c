/* GRU of int16 numbers, one layer and direction; see compiler/cmcompiler/ops/gru.py. */
#include "cmrt/args/gru_s16.h"
#include "cmrt/short_recurrence.h"

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int16_t *out)
{
    const struct cm_gru_s16 *op = arguments;
    const struct cm_gate_entry *table = cm_read(context, op->table);
    int32_t units = op->layer.units;
    int16_t *state = (int16_t *)cm_write(context, op->state) + batch * units;
    for (int32_t i = 0; i < units; ++i, ++gates) {
        state[i] = cm_gru_state(table, gates, units, state[i], op->state_bits);
        out[i] = cm_narrow_s16(&op->narrowing, state[i]);
    }
}

static void run(const struct cm_context *context, const struct cm_gru_s16 *op, cm_short_product *multiply)
{
    const struct cm_short_recurrence *layer = &op->layer;
    int32_t count = layer->batch * layer->units;
    cm_load_state(context, op->state, op->initial_state, count);
    if (op->initial_state != CM_REF_NONE)
        cm_load_short_rows(context, layer, op->initial_state, &op->narrowing);
    cm_short_recur(context, layer, (struct cm_gate_layout){4, 3, 1, 3}, multiply, step, op);
    cm_store_state(context, op->state, op->final_state, count);
}

void cm_gru_s16(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16);
}

/* With sums of any size. */
void cm_gru_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_long);
}

/* With weights of four bits. */
void cm_gru_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_w4);
}

void cm_gru_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_long_w4);
}
