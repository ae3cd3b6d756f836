/* Maximum over windows of int8 images; see compiler/cmcompiler/ops/max_pool2d.py. */
#include "cmrt/args/max_pool2d_rows.h"
#include "cmrt/args/max_pool2d_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/extreme.h"
#include "cmrt/pool.h"

#include <string.h>

static void largest(const struct cm_windows *windows, const void *arguments)
{
    const struct cm_max_pool2d_s8 *op = arguments;
    cm_isa_max_window_s8(windows, op->minimum, op->maximum);
}

void cm_max_pool2d_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool2d_s8 *op = call->arguments;
    cm_pool_images(context, call, &op->pool, largest);
}

void cm_max_pool2d_rows_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool2d_rows *op = call->arguments;
    const int32_t channels = op->input.channels;
    int8_t *maxima = cm_write(context, op->maxima);
    if (call->y0 == 0)
        memset(maxima, INT8_MIN, (size_t)channels);
    for (int32_t y = call->y0; y < call->y1; ++y) {
        const int8_t *row = cm_read_row(context, &op->input, 0, op->first_row + y);
        cm_isa_extreme_rows_s8(row + op->first_column * channels, op->columns, channels, 0, maxima);
    }
    if (call->y1 < op->rows)
        return;
    int8_t *output = cm_write(context, op->output);
    for (int32_t channel = 0; channel < channels; ++channel)
        output[channel] = (int8_t)cm_clamp(maxima[channel], op->minimum, op->maximum);
}
