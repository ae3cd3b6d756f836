/* Maximum over windows of int8 images; see compiler/cmcompiler/ops/max_pool2d.py. */
#include "cmrt/pool.h"

#include <string.h>

struct cm_max_pool2d_s8 {
    struct cm_rows input, output;
    cm_ref row_table;
    int32_t kernel_height, kernel_width, stride_height, stride_width;
    int32_t pad_top, pad_left, dilation_height, dilation_width;
    int32_t minimum, maximum;
};

void cm_max_pool2d_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool2d_s8 *op = call->arguments;
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
                cm_isa_max_window_s8(&windows, op->minimum, op->maximum);
                continue;
            }
            rows = 1;
            for (int32_t x = 0; x < op->output.width; x += windows.pixels) {
                cm_pool_windows(context, &pool, n, y, x, &windows);
                cm_isa_max_window_s8(&windows, op->minimum, op->maximum);
            }
        }
}

/* Of one window, row by row: of the `rows` rows from `first_row` on, and in them of `columns` pixels from
   `first_column` on. */
struct cm_max_pool2d_rows {
    struct cm_rows input;
    cm_ref maxima; /* of each channel, so far and in the last row; kept from call to call */
    int32_t first_row, rows, first_column, columns;
    cm_ref output;
    int32_t minimum, maximum;
};

void cm_max_pool2d_rows_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool2d_rows *op = call->arguments;
    const int32_t channels = op->input.channels, both[] = {0, channels};
    int8_t *maxima = cm_write(context, op->maxima);
    const struct cm_windows joined = {
        .input = maxima,
        .rows = both,
        .row_count = 2,
        .column_count = 1,
        .pixels = 1,
        .channels = channels,
        .out = maxima,
    };
    for (int32_t y = call->y0; y < call->y1; ++y) {
        const struct cm_windows row = {
            .input = cm_read_row(context, &op->input, 0, op->first_row + y) + op->first_column * channels,
            .rows = both,
            .row_count = 1,
            .column_count = op->columns,
            .column_stride = channels,
            .pixels = 1,
            .channels = channels,
            .out = y == 0 ? maxima : maxima + channels,
        };
        cm_isa_max_window_s8(&row, op->minimum, op->maximum);
        if (y > 0)
            cm_isa_max_window_s8(&joined, op->minimum, op->maximum);
    }
    if (call->y1 == op->rows)
        memcpy(cm_write(context, op->output), maxima, (size_t)channels);
}
