/* Mean and maximum over windows of int16 images; see compiler/cmcompiler/ops/avg_pool2d.py and max_pool2d.py.
 */
#include "cmrt/args/avg_pool2d_s16.h"
#include "cmrt/args/max_pool2d_s16.h"
#include "cmrt/arithmetic.h"
#include "cmrt/pool.h"

typedef int32_t window_function(const struct cm_windows *windows, const int8_t *input);

static int32_t mean(const struct cm_windows *windows, const int8_t *input)
{
    int32_t sum = 0, count = windows->row_count * windows->column_count;
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = 0; column < windows->column_count; ++column) {
            sum += *(const int16_t *)(const void *)pixel;
            pixel += windows->column_stride;
        }
    }
    return (sum + (sum < 0 ? -(count / 2) : count / 2)) / count;
}

static int32_t largest(const struct cm_windows *windows, const int8_t *input)
{
    int32_t maximum = INT16_MIN;
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = 0; column < windows->column_count; ++column) {
            int32_t x = *(const int16_t *)(const void *)pixel;
            maximum = x > maximum ? x : maximum;
            pixel += windows->column_stride;
        }
    }
    return maximum;
}

/* Windows side by side. */
static void reduce(const struct cm_windows *windows, window_function *function, int32_t minimum,
                   int32_t maximum)
{
    const int32_t step = (int32_t)sizeof(int16_t);
    const int8_t *input = windows->input;
    int16_t *out = (int16_t *)(void *)windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel, input += windows->pixel_stride)
        for (int32_t channel = 0; channel < windows->channels; channel += step)
            *out++ = (int16_t)cm_clamp(function(windows, input + channel), minimum, maximum);
}

static void pool(const struct cm_context *context, const struct cm_call *call, const struct cm_pool *pool,
                 window_function *function, int32_t minimum, int32_t maximum)
{
    struct cm_windows windows;
    for (int32_t n = 0; n < pool->output->batch; ++n)
        for (int32_t y = call->y0, rows; y < call->y1; y += rows) {
            rows = cm_pool_column(context, pool, n, y, call->y1, &windows);
            if (rows > 0) {
                reduce(&windows, function, minimum, maximum);
                continue;
            }
            rows = 1;
            for (int32_t x = 0; x < pool->output->width; x += windows.pixels) {
                cm_pool_windows(context, pool, n, y, x, &windows);
                reduce(&windows, function, minimum, maximum);
            }
        }
}

#define POOL_OF(op)                                                                                          \
    {                                                                                                        \
        .input = &(op)->input,                                                                               \
        .output = &(op)->output,                                                                             \
        .row_table = cm_write(context, (op)->row_table),                                                     \
        .kernel_height = (op)->kernel_height,                                                                \
        .kernel_width = (op)->kernel_width,                                                                  \
        .stride_height = (op)->stride_height,                                                                \
        .stride_width = (op)->stride_width,                                                                  \
        .pad_top = (op)->pad_top,                                                                            \
        .pad_left = (op)->pad_left,                                                                          \
        .dilation_height = (op)->dilation_height,                                                            \
        .dilation_width = (op)->dilation_width,                                                              \
    }

void cm_avg_pool2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool2d_s16 *op = call->arguments;
    const struct cm_pool windows = POOL_OF(op);
    pool(context, call, &windows, mean, op->minimum, op->maximum);
}

void cm_max_pool2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool2d_s16 *op = call->arguments;
    const struct cm_pool windows = POOL_OF(op);
    pool(context, call, &windows, largest, op->minimum, op->maximum);
}
