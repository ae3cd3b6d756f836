/* Depthwise convolution of int16 images; see compiler/cmcompiler/ops/depthwise_conv2d.py. */
#include "cmrt/args/short_depthwise.h"
#include "cmrt/pool.h"
#include "cmrt/short_pixel.h"

/* Rows of the kernel that cm_short_depthwise takes: see compiler/cmcompiler/ops/depthwise_conv2d.py. */
enum { MOST_ROWS = 16 };

/* The taps of a window that lie inside the image. */
struct window {
    struct cm_taps rows, columns;
    int32_t top, left;
};

static int32_t scaled(const struct cm_short_range *range, const struct cm_short_head *head, int64_t sum)
{
    if (range->is_long != 0)
        return cm_scale_long(sum, head->multiplier, head->shift);
    return cm_requantize((int32_t)sum, head->multiplier, head->shift);
}

/* All channels of one output pixel. */
static void convolve(const struct cm_context *context, const struct cm_short_depthwise *op, int32_t n,
                     const struct window *window, int16_t *out)
{
    const struct cm_short_range *range = cm_read(context, op->weights);
    const int32_t channels = op->input.channels / (int32_t)sizeof(int16_t);
    const struct cm_short_head *heads = (const struct cm_short_head *)(range + 1);
    const int8_t *weights = (const int8_t *)(heads + channels);
    const int32_t step = op->dilation_width * channels;
    const int32_t left = window->left + window->columns.first * op->dilation_width;
    for (int32_t channel = 0; channel < channels; ++channel) {
        const struct cm_short_head *head = heads + channel;
        int64_t sum = (int64_t)((uint64_t)head->bias[1] << 32 | head->bias[0]);
        for (int32_t row = window->rows.first; row < window->rows.end; ++row) {
            int32_t y = window->top + row * op->dilation_height;
            const int8_t *pixel = cm_read_row(context, &op->input, n, y) + left * op->input.channels;
            const int16_t *in = (const int16_t *)(const void *)pixel + channel;
            int32_t place = row * op->kernel_width + window->columns.first;
            const int8_t *tap = weights + place * channels + channel;
            for (int32_t column = window->columns.first; column < window->columns.end; ++column) {
                sum += *in * *tap;
                in += step;
                tap += channels;
            }
        }
        int32_t result = scaled(range, head, sum);
        out[channel] = (int16_t)cm_clamp(result, range->minimum, range->maximum);
    }
}

/* The window of an output row: its rows. */
static struct window window_of_row(const struct cm_short_depthwise *op, int32_t y)
{
    struct window window = {.top = y * op->stride_height - op->pad_top};
    window.rows = cm_taps_inside(window.top, op->dilation_height, op->kernel_height, op->input.height);
    return window;
}

/* Moves on to an output column. */
static void move_window(const struct cm_short_depthwise *op, struct window *window, int32_t x)
{
    window->left = x * op->stride_width - op->pad_left;
    window->columns = cm_taps_inside(window->left, op->dilation_width, op->kernel_width, op->input.width);
}

/* Output row y of an image, of sums that fit 32 bits. */
static void convolve_row(const struct cm_context *context, const struct cm_short_depthwise *op, int32_t n,
                         int32_t y)
{
    const struct cm_short_range *range = cm_read(context, op->weights);
    const int32_t channels = op->input.channels / (int32_t)sizeof(int16_t);
    const int16_t *rows[MOST_ROWS];
    struct cm_short_pixel pixel = {
        .rows = rows,
        .step = op->dilation_width * channels,
        .weight_row = op->kernel_width * channels,
        .heads = (const struct cm_short_head *)(range + 1),
        .channels = channels,
        .minimum = range->minimum,
        .maximum = range->maximum,
        .out = (int16_t *)(void *)cm_write_row(context, &op->output, n, y),
    };
    const int8_t *weights = (const int8_t *)(pixel.heads + channels);
    struct window window = window_of_row(op, y);
    for (int32_t row = window.rows.first; row < window.rows.end; ++row) {
        const int8_t *in = cm_read_row(context, &op->input, n, window.top + row * op->dilation_height);
        rows[pixel.height++] = (const int16_t *)(const void *)in;
    }
    weights += window.rows.first * pixel.weight_row;
    for (int32_t x = 0; x < op->output.width; ++x, pixel.out += channels) {
        move_window(op, &window, x);
        pixel.width = window.columns.end - window.columns.first;
        pixel.first = window.left * channels + window.columns.first * pixel.step;
        pixel.weights = weights + window.columns.first * channels;
        cm_isa_depthwise_s16(&pixel);
    }
}

void cm_short_depthwise(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_depthwise *op = call->arguments;
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y)
            convolve_row(context, op, n, y);
}

/* For sums and scales of any size, and kernels of any height. */
void cm_short_depthwise_long(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_depthwise *op = call->arguments;
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y) {
            int8_t *out = cm_write_row(context, &op->output, n, y);
            struct window window = window_of_row(op, y);
            for (int32_t x = 0; x < op->output.width; ++x) {
                move_window(op, &window, x);
                int16_t *pixel = (int16_t *)(void *)(out + x * op->output.channels);
                convolve(context, op, n, &window, pixel);
            }
        }
}
