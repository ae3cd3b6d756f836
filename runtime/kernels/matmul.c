/* Products of float matrices; see compiler/cmcompiler/ops/matmul.py. */
#include "cmrt/args/matmul_f32.h"
#include "cmrt/arithmetic.h"
#include "cmrt/dot.h"
#include "cmrt/program.h"

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

void cm_matmul_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_matmul_f32 *op = call->arguments;
    const uint8_t *rows = cm_read(context, op->rows.data), *lanes = cm_read(context, op->lanes.data);
    const uint8_t *addend = op->addend == CM_REF_NONE ? NULL : cm_read(context, op->addend);
    uint8_t *output = cm_write(context, op->output);
    struct cm_dot dot = {
        .taps = cm_read(context, op->taps),
        .tap_count = op->tap_count,
        .blocks = op->blocks,
        .row_block = op->rows.block,
        .lane_block = op->lanes.block,
        .row_count = op->row_count,
        .row_step = op->rows.step,
        .out_step = op->output_row,
        .addend_step = op->addend_row,
        .alpha = cm_float(op->alpha),
        .beta = cm_float(op->beta),
    };
    for (int32_t first = 0; first < op->lane_count; first += CM_DOT_LANES) {
        int32_t count = smaller(op->lane_count - first, CM_DOT_LANES);
        for (int32_t i = 0; i < CM_DOT_LANES && count != dot.lane_count; ++i) {
            dot.lane_offsets[i] = smaller(i, count - 1) * op->lanes.step;
            dot.addend_offsets[i] = smaller(i, count - 1) * op->addend_lane;
            dot.out_offsets[i] = smaller(i, count - 1) * op->output_lane;
        }
        dot.lane_count = count;
        for (int32_t n = 0; n < op->batch; ++n) {
            dot.row = rows + n * op->rows.batch;
            dot.lane = lanes + n * op->lanes.batch + first * op->lanes.step;
            dot.out = output + n * op->output_batch + first * op->output_lane;
            if (addend != NULL)
                dot.addend = addend + n * op->addend_batch + first * op->addend_lane;
            cm_isa_dot_f32(&dot);
        }
    }
}
