/* LSTM of one layer and direction; see compiler/cmcompiler/ops/lstm.py. */
#include "cmrt/args/lstm.h"
#include "cmrt/args/lstm_clipped.h"
#include "cmrt/isa.h"
#include "cmrt/recurrence.h"

static void project(const struct cm_context *context, const struct cm_lstm *op, const int8_t *units,
                    int8_t *out)
{
    const struct cm_projection *projection = &op->projection;
    struct cm_gemm gemm = {
        .lhs = units,
        .lhs_stride = op->layer.units,
        .rows = 1,
        .weights = cm_read(context, projection->weights),
        .depth = op->layer.units,
        .columns = projection->outputs,
        .out = out,
        .out_stride = projection->outputs,
        .workspace = cm_write(context, op->layer.workspace),
        .output = {projection->zero_point, projection->minimum, projection->maximum, projection->rounding},
    };
    if (projection->rounding == CM_ROUND_GENERAL)
        cm_isa_gemv_s8_general(&gemm);
    else
        cm_isa_gemv_s8(&gemm);
}

/* A step by `compute`, and its projection. */
static void step_by(const struct cm_context *context, const struct cm_lstm *op, int32_t batch,
                    const int16_t *gates, int8_t *out, int32_t cell_limit,
                    void (*compute)(const struct cm_lstm_step *))
{
    int32_t is_projected = op->projection.weights != CM_REF_NONE;
    int8_t *units = is_projected ? cm_write(context, op->projection.units) : out;
    struct cm_lstm_step lstm = {
        .gates = gates,
        .cell = (int16_t *)cm_write(context, op->cell) + batch * op->layer.units,
        .out = units,
        .table = cm_read(context, op->table),
        .units = op->layer.units,
        .cell_bits = op->cell_bits,
        .narrowing = op->narrowing,
        .cell_limit = cell_limit,
    };
    compute(&lstm);
    if (is_projected)
        project(context, op, units, out);
}

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int8_t *out)
{
    step_by(context, arguments, batch, gates, out, 0, cm_isa_lstm_step_s8);
}

static void clipped_step(const struct cm_context *context, const void *arguments, int32_t batch,
                         const int16_t *gates, int8_t *out)
{
    const struct cm_lstm_clipped *op = arguments;
    step_by(context, &op->lstm, batch, gates, out, op->cell_limit, cm_isa_lstm_step_clipped_s8);
}

/* Args:
     arguments: of `compute`. */
static void run(const struct cm_context *context, const struct cm_lstm *op, const void *arguments,
                cm_gate_function *multiply,
                void (*compute)(const struct cm_context *, const void *, int32_t, const int16_t *, int8_t *))
{
    const struct cm_recurrence *layer = &op->layer;
    int32_t count = layer->batch * layer->units;
    cm_load_state(context, op->cell, op->initial_cell, count);
    if (op->initial_hidden != CM_REF_NONE)
        cm_load_rows(context, layer, op->initial_hidden, &op->initial);
    cm_recur(context, layer, (struct cm_gate_layout){4, 4, 0, 4}, multiply, compute, arguments);
    cm_store_state(context, op->cell, op->final_cell, count);
}

void cm_lstm(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, call->arguments, cm_isa_gemv_s16, step);
}

/* With weights of four bits. */
void cm_lstm_w4(const struct cm_context *context, const struct cm_call *call)
{
    run(context, call->arguments, call->arguments, cm_isa_gemv_s16_w4, step);
}

void cm_lstm_clipped(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_lstm_clipped *op = call->arguments;
    run(context, &op->lstm, op, cm_isa_gemv_s16, clipped_step);
}
