/* LSTM of one layer and direction; see compiler/cmcompiler/ops/lstm.py. */
#include "cmrt/isa.h"
#include "cmrt/recurrence.h"

/* Outputs from the units' int8 results; `weights` is CM_REF_NONE if these are the outputs. */
struct cm_projection {
    cm_ref weights, units;
    int32_t outputs;
    int32_t zero_point, minimum, maximum, rounding;
};

struct cm_lstm {
    struct cm_recurrence layer;
    cm_ref table, initial_hidden, initial_cell, final_cell, cell;
    int32_t cell_bits;
    struct cm_narrowing narrowing;
    struct cm_projection projection;
    struct cm_narrowing initial; /* of initial outputs */
};

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

static void step(const struct cm_context *context, const void *arguments, int32_t batch, const int16_t *gates,
                 int8_t *out)
{
    const struct cm_lstm *op = arguments;
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
    };
    cm_isa_lstm_step_s8(&lstm);
    if (is_projected)
        project(context, op, units, out);
}

void cm_lstm(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_lstm *op = call->arguments;
    const struct cm_recurrence *layer = &op->layer;
    int32_t count = layer->batch * layer->units;
    cm_load_state(context, op->cell, op->initial_cell, count);
    if (op->initial_hidden != CM_REF_NONE)
        cm_load_rows(context, layer, op->initial_hidden, &op->initial);
    cm_recur(context, layer, (struct cm_gate_layout){4, 4, 0, 4}, step, op);
    cm_store_state(context, op->cell, op->final_cell, count);
}
