/* RNN of int16 numbers, one layer and direction; see compiler/cmcompiler/ops/rnn.py. */
#include "cmrt/args/rnn_s16.h"
#include "cmrt/short_recurrence.h"

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int16_t *out)
{
    const struct cm_rnn_s16 *op = arguments;
    const struct cm_gate_entry *table = op->table == CM_REF_NONE ? NULL : cm_read(context, op->table);
    (void)batch;
    for (int32_t i = 0; i < op->layer.units; ++i) {
        int32_t x = gates[i];
        x = table != NULL ? cm_gate_tanh(table, x, 0) : x > 0 ? x : 0;
        out[i] = cm_narrow_s16(&op->narrowing, x);
    }
}

static void run(const struct cm_context *context, const struct cm_rnn_s16 *op, cm_short_product *multiply)
{
    if (op->initial_hidden != CM_REF_NONE)
        cm_load_short_rows(context, &op->layer, op->initial_hidden, &op->initial);
    cm_short_recur(context, &op->layer, (struct cm_gate_layout){1, 1, 0, 1}, multiply, step, op);
}

void cm_rnn_s16(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16);
}

/* With sums of any size. */
void cm_rnn_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_long);
}

/* With weights of four bits. */
void cm_rnn_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_w4);
}

void cm_rnn_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, cm_isa_gemm_s16_long_w4);
}
