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

static void means(const struct cm_windows *windows, const void *arguments)
{
    const struct cm_avg_pool2d_s16 *op = arguments;
    reduce(windows, mean, op->minimum, op->maximum);
}

static void maxima(const struct cm_windows *windows, const void *arguments)
{
    const struct cm_max_pool2d_s16 *op = arguments;
    reduce(windows, largest, op->minimum, op->maximum);
}

/* The loops over windows once for both: they are inlined wherever they stand. */
static void pool(const struct cm_context *context, const struct cm_call *call, const struct cm_pool *pool,
                 void (*function)(const struct cm_windows *windows, const void *arguments))
{
    cm_pool_images(context, call, pool, function);
}

void cm_avg_pool2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool2d_s16 *op = call->arguments;
    pool(context, call, &op->pool, means);
}

void cm_max_pool2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool2d_s16 *op = call->arguments;
    pool(context, call, &op->pool, maxima);
}
