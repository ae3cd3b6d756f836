/* Mean over windows of int8 images; see compiler/cmcompiler/ops/avg_pool2d.py. */
#include "cmrt/args/avg_pool2d_rows.h"
#include "cmrt/args/avg_pool2d_s8.h"
#include "cmrt/division.h"
#include "cmrt/pool.h"
#include "cmrt/row_sums.h"

static void mean(const struct cm_windows *windows, const void *op)
{
    (void)op;
    cm_isa_avg_window_s8(windows);
}

void cm_avg_pool2d_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool2d_s8 *op = call->arguments;
    cm_pool_images(context, call, &op->pool, mean);
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
