/* Convolution as an implicit matrix product of windows of three rows, each of one byte more than whole words:
   of 3x3 kernels over three channels. */
#include "cmrt/args/implicit_conv2d.h"
#include "cmrt/clamp_rows.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/read_strip.h"
#include "cmrt/rows.h"

#include <stdbool.h>

typedef void product_function(const struct cm_gemm *gemm, struct cm_odd_rows *windows);

static void convolve(const struct cm_context *context, const struct cm_call *call, product_function *multiply)
{
    const struct cm_implicit_conv2d *op = call->arguments;
    const int8_t *const image = cm_read(context, op->input.data);
    int8_t *const strips = cm_write(context, op->scratch);
    const int32_t last = op->input.width * op->input.channels - op->strip, step = CM_PACKED_ROWS * op->step;
    struct cm_odd_rows windows = {.stride = op->step, .bytes = op->row_depth};
    struct cm_gemm gemm = {
        .weights = cm_read(context, op->weights),
        .depth = op->depth,
        .columns = op->output.channels,
        .out_stride = op->output_pixel,
        .workspace = strips + (CM_WINDOW_ROWS * op->strip + 3) / 4 * 4,
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
    for (int32_t y = call->y0; y < call->y1; ++y) {
        const int32_t top = y * op->stride_height - op->pad_top;
        const bool is_inside = top >= 0 && top + CM_WINDOW_ROWS <= op->input.height;
        int32_t left = -op->left;
        gemm.out = cm_write_row(context, &op->output, 0, y);
        for (int32_t x = 0; x < op->output.width; x += gemm.rows) {
            gemm.rows = CM_PACKED_ROWS;
            for (int32_t i = 0; i < CM_WINDOW_ROWS; ++i)
                windows.rows[i] = cm_read_strip(op, image, top + i, left, strips + i * op->strip);
            /* From the first window inside on, all that are. */
            if (is_inside && left >= 0 && left <= last)
                gemm.rows = cm_clamp(((last - left) / step + 1) * CM_PACKED_ROWS, 0, op->output.width - x);
            multiply(&gemm, &windows);
            gemm.out += gemm.rows * op->output_pixel;
            left += gemm.rows * op->step;
        }
    }
}

void cm_implicit_conv2d_odd(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_odd);
}

/* With weights whose pairs do not suit the DSP extension. */
void cm_implicit_conv2d_odd_apart(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_odd_apart);
}

/* With weights of int16. */
void cm_implicit_conv2d_odd_w16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_odd_w16);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_implicit_conv2d *op = call->arguments;
    cm_clamp_rows(context, call, &op->output, op->output_pixel, op->minimum, op->maximum);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_implicit_conv2d_odd_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_implicit_conv2d_odd(context, call);
    clamp(context, call);
}

void cm_implicit_conv2d_odd_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_implicit_conv2d_odd_apart(context, call);
    clamp(context, call);
}

void cm_implicit_conv2d_odd_w16_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_implicit_conv2d_odd_w16(context, call);
    clamp(context, call);
}
