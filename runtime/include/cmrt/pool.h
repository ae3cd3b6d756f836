/* Windows over images, for pools: runs of output pixels whose windows cover the same rows and columns. */
#ifndef CMRT_POOL_H
#define CMRT_POOL_H

#include "cmrt/args/pool.h"
#include "cmrt/microkernel.h"
#include "cmrt/rows.h"

/* `pixels` windows of row_count * column_count pixels of `channels` bytes; strides in bytes. Up to 15 bytes
   after a pixel may be read; their values do not matter. */
struct cm_windows {
    const int8_t *input; /* first column of the first window, in row 0 */
    const int32_t *rows; /* byte offset of each row */
    int32_t row_count;
    int32_t column_count, column_stride;
    int32_t pixels, pixel_stride;
    int32_t channels;
    int8_t *out; /* dense */
};

/* Sum of one channel over a window. */
static inline int32_t cm_window_sum(const struct cm_windows *windows, const int8_t *input)
{
    int32_t sum = 0;
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = 0; column < windows->column_count; ++column) {
            sum += *pixel;
            pixel += windows->column_stride;
        }
    }
    return sum;
}

/* Mean, halves away from zero; see compiler/cmcompiler/ops/avg_pool2d.py. */
CM_MICROKERNEL void cm_isa_avg_window_s8(const struct cm_windows *windows);

CM_MICROKERNEL void cm_isa_max_window_s8(const struct cm_windows *windows, int32_t minimum, int32_t maximum);

/* Taps [first, end) of a window that starts at `start`: those in [0, length). */
struct cm_taps {
    int32_t first, end;
};

static inline struct cm_taps cm_taps_inside(int32_t start, int32_t dilation, int32_t count, int32_t length)
{
    struct cm_taps taps = {0, count};
    while (taps.first < count && start + taps.first * dilation < 0)
        ++taps.first;
    while (taps.end > taps.first && start + (taps.end - 1) * dilation >= length)
        --taps.end;
    return taps;
}

/* The windows of output row y of image n from column x on, as many as cover the same columns. */
static inline void cm_pool_windows(const struct cm_context *context, const struct cm_pool *pool, int32_t n,
                                   int32_t y, int32_t x, struct cm_windows *windows)
{
    const struct cm_rows *input = &pool->input, *output = &pool->output;
    int32_t channels = input->channels;
    if (x == 0) {
        int32_t top = y * pool->stride_height - pool->pad_top;
        struct cm_taps rows = cm_taps_inside(top, pool->dilation_height, pool->kernel_height, input->height);
        int32_t *offsets = cm_write(context, pool->row_table);
        windows->rows = offsets;
        windows->row_count = rows.end - rows.first;
        for (int32_t i = rows.first; i < rows.end; ++i)
            offsets[i - rows.first] = (int32_t)cm_row_offset(input, n, top + i * pool->dilation_height);
        windows->column_stride = pool->dilation_width * channels;
        windows->pixel_stride = pool->stride_width * channels;
        windows->channels = channels;
    }
    int32_t left = x * pool->stride_width - pool->pad_left;
    struct cm_taps columns = cm_taps_inside(left, pool->dilation_width, pool->kernel_width, input->width);
    int32_t last = left + (pool->kernel_width - 1) * pool->dilation_width;
    windows->pixels = 1;
    if (left >= 0 && last < input->width) {
        int32_t whole = (input->width - 1 - last) / pool->stride_width + 1;
        windows->pixels = whole < output->width - x ? whole : output->width - x;
    }
    windows->column_count = columns.end - columns.first;
    windows->input = (const int8_t *)cm_read(context, input->data) +
                     (left + columns.first * pool->dilation_width) * channels;
    windows->out = cm_write_row(context, output, n, y) + x * channels;
}

/* Of rows [y, end) of a column of pixels, the first ones whose windows lie in one piece of memory, as do they
   themselves; their number, 0 for other images. */
static inline int32_t cm_pool_column(const struct cm_context *context, const struct cm_pool *pool, int32_t n,
                                     int32_t y, int32_t end, struct cm_windows *windows)
{
    const struct cm_rows *input = &pool->input, *output = &pool->output;
    int32_t top = y * pool->stride_height - pool->pad_top;
    if (output->width != 1 || input->width != 1 || pool->kernel_width != 1 || pool->pad_left != 0)
        return 0;
    int32_t most = output->ring - y % output->ring, reach = (pool->kernel_height - 1) * pool->dilation_height;
    most = most < end - y ? most : end - y;
    int32_t count = cm_windows_in_one_piece(input, top, reach, pool->stride_height, most);
    if (count == 0)
        return 0;
    int32_t *offsets = cm_write(context, pool->row_table);
    offsets[0] = 0;
    *windows = (struct cm_windows){
        .input = cm_read_row(context, input, n, top),
        .rows = offsets,
        .row_count = 1,
        .column_count = pool->kernel_height,
        .column_stride = pool->dilation_height * input->row_stride,
        .pixels = count,
        .pixel_stride = pool->stride_height * input->row_stride,
        .channels = input->channels,
        .out = cm_write_row(context, output, n, y),
    };
    return windows->pixels;
}

/* Windows of all images in rows [y0, y1) of a call; `reduce` takes those side by side. */
static inline __attribute__((always_inline)) void
cm_pool_images(const struct cm_context *context, const struct cm_call *call, const struct cm_pool *pool,
               void (*reduce)(const struct cm_windows *windows, const void *op))
{
    struct cm_windows windows;
    for (int32_t n = 0; n < pool->output.batch; ++n)
        for (int32_t y = call->y0, rows; y < call->y1; y += rows) {
            rows = cm_pool_column(context, pool, n, y, call->y1, &windows);
            if (rows > 0) {
                reduce(&windows, call->arguments);
                continue;
            }
            rows = 1;
            for (int32_t x = 0; x < pool->output.width; x += windows.pixels) {
                cm_pool_windows(context, pool, n, y, x, &windows);
                reduce(&windows, call->arguments);
            }
        }
}

#endif
