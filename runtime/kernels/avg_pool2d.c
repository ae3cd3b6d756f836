/* Mean over windows of int8 images; see compiler/cmcompiler/ops/avg_pool2d.py. */
#include "cmrt/args/avg_pool2d_rows.h"
#include "cmrt/args/avg_pool2d_s8.h"
#include "cmrt/division.h"
#include "cmrt/pool.h"
#include "cmrt/row_sums.h"

void cm_avg_pool2d_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool2d_s8 *op = call->arguments;
    const struct cm_pool pool = {
        .input = &op->input,
        .output = &op->output,
        .row_table = cm_write(context, op->row_table),
        .kernel_height = op->kernel_height,
        .kernel_width = op->kernel_width,
        .stride_height = op->stride_height,
        .stride_width = op->stride_width,
        .pad_top = op->pad_top,
        .pad_left = op->pad_left,
        .dilation_height = op->dilation_height,
        .dilation_width = op->dilation_width,
    };
    struct cm_windows windows;
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0, rows; y < call->y1; y += rows) {
            rows = cm_pool_column(context, &pool, n, y, call->y1, &windows);
            if (rows > 0) {
                cm_isa_avg_window_s8(&windows);
                continue;
            }
            rows = 1;
            for (int32_t x = 0; x < op->output.width; x += windows.pixels) {
                cm_pool_windows(context, &pool, n, y, x, &windows);
                cm_isa_avg_window_s8(&windows);
            }
        }
}

void cm_avg_pool2d_rows_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool2d_rows *op = call->arguments;
    const int32_t *sums = cm_add_to_sums(context, &op->total, call);
    if (sums == NULL)
        return;
    int8_t *output = cm_write(context, op->output);
    const struct cm_mean mean = cm_mean_over((uint32_t)(op->total.rows * op->total.columns));
    for (int32_t channel = 0; channel < op->total.input.channels; ++channel)
        output[channel] = cm_mean_of(&mean, sums[channel]);
}
