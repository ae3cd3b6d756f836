/* RNN of one layer and direction; see compiler/cmcompiler/ops/rnn.py. */
#include "cmrt/args/rnn.h"
#include "cmrt/recurrence.h"

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int8_t *out)
{
    const struct cm_rnn *op = arguments;
    (void)batch;
    const struct cm_gate_entry *table = op->table == CM_REF_NONE ? NULL : cm_read(context, op->table);
    cm_isa_rnn_step_s8(gates, table, &op->narrowing, out, op->layer.units);
}

static void run(const struct cm_context *context, const struct cm_rnn *op, cm_gate_function *multiply)
{
    if (op->initial_hidden != CM_REF_NONE)
        cm_load_rows(context, &op->layer, op->initial_hidden, &op->initial);
    cm_recur(context, &op->layer, (struct cm_gate_layout){1, 1, 0, 1}, multiply, step, op);
}

void cm_rnn(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemv_s16);
}

/* With weights of four bits. */
void cm_rnn_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemv_s16_w4);
}
