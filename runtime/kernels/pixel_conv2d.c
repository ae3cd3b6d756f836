/* Convolution with kernels of one pixel: the input's pixels are the rows of a matrix product; see
   compiler/cmcompiler/ops/conv2d.py. */
#include "cmrt/args/pixel_conv2d.h"
#include "cmrt/clamp_rows.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

#include <stdbool.h>

static void convolve(const struct cm_context *context, const struct cm_call *call,
                     void (*multiply)(const struct cm_gemm *))
{
    const struct cm_pixel_conv2d *op = call->arguments;
    const bool is_joined = op->joined != 0 && op->output.row_stride == op->output.width * op->output_pixel;
    struct cm_gemm gemm;
    gemm.lhs_stride = op->stride_width * op->input.channels;
    gemm.depth = op->depth;
    gemm.columns = op->output.channels / op->groups;
    gemm.out_stride = op->output_pixel;
    gemm.workspace = cm_write(context, op->workspace);
    gemm.output = (struct cm_output){op->zero_point, op->minimum, op->maximum, op->rounding};
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0, rows = 1; y < call->y1; y += rows) {
            if (is_joined) {
                rows = cm_rows_to_end(&op->output, y, call->y1 - y);
                rows = cm_rows_to_end(&op->input, y, rows);
            }
            gemm.rows = rows * op->output.width;
            gemm.lhs = cm_read_row(context, &op->input, n, y * op->stride_height);
            gemm.out = cm_write_row(context, &op->output, n, y);
            gemm.weights = cm_read(context, op->weights);
            for (int32_t group = 0; group < op->groups; ++group) {
                multiply(&gemm);
                gemm.lhs += gemm.depth;
                gemm.weights = (const uint8_t *)gemm.weights + op->group_weights;
                gemm.out += gemm.columns;
            }
        }
}

void cm_pixel_conv2d(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8);
}

void cm_pixel_conv2d_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_general);
}

void cm_pixel_conv2d_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_half_up);
}

/* With Helium, by depth. */
void cm_pixel_conv2d_shallow(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow);
}

void cm_pixel_conv2d_shallow_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow_half_up);
}

void cm_pixel_conv2d_deep(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep);
}

void cm_pixel_conv2d_deep_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep_half_up);
}

/* With Helium, of rows side by side. */
void cm_pixel_conv2d_shallow_dense(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow_dense);
}

void cm_pixel_conv2d_shallow_dense_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow_dense_half_up);
}

void cm_pixel_conv2d_dense_64_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_dense_64_half_up);
}

void cm_pixel_conv2d_dense_128_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_dense_128_half_up);
}

/* With weights whose pairs do not suit the DSP extension. */
void cm_pixel_conv2d_apart(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_apart);
}

void cm_pixel_conv2d_apart_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_apart_general);
}

void cm_pixel_conv2d_g4_apart(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_apart);
}

void cm_pixel_conv2d_g4_apart_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_apart_general);
}

/* With weights of int16. */
void cm_pixel_conv2d_w16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16);
}

void cm_pixel_conv2d_w16_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16_general);
}

/* With weights of four bits. */
void cm_pixel_conv2d_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4);
}

void cm_pixel_conv2d_w4_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_general);
}

void cm_pixel_conv2d_w4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_half_up);
}

/* With Helium, of so many depths. */
void cm_pixel_conv2d_w4_64(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_64);
}

void cm_pixel_conv2d_w4_64_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_64_half_up);
}

void cm_pixel_conv2d_w4_128(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_128);
}

void cm_pixel_conv2d_w4_128_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_128_half_up);
}

/* With such in groups of depths. */
void cm_pixel_conv2d_g4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4);
}

void cm_pixel_conv2d_g4_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_general);
}

void cm_pixel_conv2d_g4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_half_up);
}

/* Of int16. All sizes of the arguments are bytes. */
void cm_pixel_conv2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16);
}

void cm_pixel_conv2d_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16_long);
}

void cm_pixel_conv2d_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16_w4);
}

void cm_pixel_conv2d_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16_long_w4);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_pixel_conv2d *op = call->arguments;
    cm_clamp_rows(context, call, &op->output, op->output_pixel, op->minimum, op->maximum);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_pixel_conv2d_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_shallow_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_shallow(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_shallow_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_shallow_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_deep_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_deep(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_deep_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_deep_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_shallow_dense_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_shallow_dense(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_shallow_dense_half_up_clamped(const struct cm_context *context,
                                                   const struct cm_call *call)
{
    cm_pixel_conv2d_shallow_dense_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_dense_64_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_dense_64_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_dense_128_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_dense_128_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_apart(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_g4_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_g4_apart(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w16_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w16(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w4(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w4_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w4_64_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w4_64(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w4_64_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w4_64_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w4_128_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w4_128(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_w4_128_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_w4_128_half_up(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_g4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_g4(context, call);
    clamp(context, call);
}

void cm_pixel_conv2d_g4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_pixel_conv2d_g4_half_up(context, call);
    clamp(context, call);
}
