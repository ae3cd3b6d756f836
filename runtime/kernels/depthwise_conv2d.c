/* Depthwise convolution, one filter per channel; see compiler/cmcompiler/ops/depthwise_conv2d.py. */
#include "cmrt/args/depthwise_conv2d.h"
#include "cmrt/clamp_rows.h"
#include "cmrt/elementwise.h"
#include "cmrt/isa.h"
#include "cmrt/narrow_taps.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

#include <stdbool.h>

/* Weights of four bits, from now on at the start of the workspace. */
static void unpack(struct cm_depthwise *d)
{
    const struct cm_narrow_taps *taps = d->weights;
    cm_isa_unpack_taps(taps, d->workspace);
    d->weights = d->workspace;
    d->workspace = (int8_t *)d->workspace + taps->unpacked;
}

/* Offsets of `count` rows of image `n` from row `y` on, CM_NO_ROW for those outside the image. */
static void list_rows(const struct cm_rows *rows, int32_t n, int32_t y, int32_t count, int32_t *offsets)
{
    const int32_t stride = rows->row_stride, first = n * rows->batch_stride,
                  after = first + rows->ring * stride;
    const uint32_t height = (uint32_t)rows->height;
    int32_t offset = first + cm_ring_slot(rows, y) * stride;
    for (const int32_t *end = offsets + count; offsets < end; ++y) {
        *offsets++ = (uint32_t)y < height ? offset : CM_NO_ROW;
        offset += stride;
        if (offset == after)
            offset = first;
    }
}

static inline __attribute__((always_inline)) void
convolve_any(const struct cm_context *context, const struct cm_call *call, bool is_narrow,
             void (*microkernel)(const struct cm_depthwise *))
{
    const struct cm_depthwise_conv2d *op = call->arguments;
    const int32_t y1 = call->y1, most = op->band * op->bands;
    int32_t reach = (op->kernel_height - 1) * op->dilation_height + 1;
    int32_t *input_rows = cm_write(context, op->row_table);
    int32_t *out_rows = input_rows + (most - 1) * op->stride_height + reach;
    struct cm_depthwise depthwise = {
        .input = cm_read(context, op->input.data),
        .input_rows = input_rows,
        .out = cm_write(context, op->output.data),
        .out_rows = out_rows,
        .input_width = op->input.width,
        .out_width = op->output.width,
        .channels = op->output.channels,
        .input_channels = op->input.channels,
        .kernel_height = op->kernel_height,
        .kernel_width = op->kernel_width,
        .stride_height = op->stride_height,
        .stride_width = op->stride_width,
        .dilation_height = op->dilation_height,
        .dilation_width = op->dilation_width,
        .pad_left = op->pad_left,
        .chunk = op->chunk,
        .weights = cm_read(context, op->weights),
        .workspace = cm_write(context, op->workspace),
        .input_zero_point = op->input_zero_point,
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
    if (is_narrow)
        unpack(&depthwise);
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < y1; y += most) {
            depthwise.band = y1 - y < most ? y1 - y : most;
            list_rows(&op->input, n, y * op->stride_height - op->pad_top,
                      (depthwise.band - 1) * op->stride_height + reach, input_rows);
            list_rows(&op->output, n, y, depthwise.band, out_rows);
            microkernel(&depthwise);
        }
}

static void convolve(const struct cm_context *context, const struct cm_call *call,
                     void (*microkernel)(const struct cm_depthwise *))
{
    convolve_any(context, call, false, microkernel);
}

void cm_depthwise_conv2d(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_s8);
}

void cm_depthwise_conv2d_divided(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_s8_divided);
}

void cm_depthwise_conv2d_affine(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_affine_s8);
}

void cm_depthwise_conv2d_shared(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_shared_s8);
}

void cm_depthwise_conv2d_grouped(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_grouped_s8);
}

void cm_depthwise_conv2d_grouped_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_grouped_s8_half_up);
}

void cm_depthwise_conv2d_channels(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_channels_s8);
}

void cm_depthwise_conv2d_3x3(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s8);
}

void cm_depthwise_conv2d_3x3_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s8_half_up);
}

void cm_depthwise_conv2d_3x3_row(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s8_row);
}

void cm_depthwise_conv2d_3x3_row_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s8_row_half_up);
}

void cm_depthwise_conv2d_3x3_stride_2(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s8_stride_2);
}

void cm_depthwise_conv2d_3x3_stride_2_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s8_stride_2_half_up);
}

void cm_depthwise_conv2d_3x3_s16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s16);
}

void cm_depthwise_conv2d_3x3_s16_rectified(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s16_rectified);
}

void cm_depthwise_conv2d_3x3_s16_stride_2(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s16_stride_2);
}

void cm_depthwise_conv2d_3x3_s16_stride_2_rectified(const struct cm_context *context,
                                                    const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_3x3_s16_stride_2_rectified);
}

void cm_depthwise_conv2d_5x5(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_depthwise_5x5_s8);
}

/* Several filters for each channel: as one filter for each of copies of the channels, side by side in the
   workspace, after the copies' offsets. */
static inline void convolve_copies_3x3(const struct cm_depthwise *d,
                                       void (*microkernel)(const struct cm_depthwise *))
{
    const int32_t count = (d->band - 1) * d->stride_height + 3, pitch = d->input_width * d->channels;
    int32_t *rows = d->workspace, each = 0;
    int8_t *copies = (int8_t *)(rows + ((count + 3) & -4));
    for (int32_t c = 0; c < d->channels; c += d->input_channels)
        ++each;
    for (int32_t i = 0; i < count; ++i) {
        rows[i] = d->input_rows[i];
        if (rows[i] == CM_NO_ROW)
            continue;
        cm_isa_repeat_bytes(copies + i * pitch, d->input + rows[i], each, d->input_width * d->input_channels);
        rows[i] = i * pitch;
    }
    struct cm_depthwise plain = *d;
    plain.input = copies;
    plain.input_rows = rows;
    plain.input_channels = d->channels;
    plain.workspace = copies + ((count * pitch + 15) & -16);
    microkernel(&plain);
}

static void convolve_copies(const struct cm_depthwise *d)
{
    convolve_copies_3x3(d, cm_isa_depthwise_3x3_s8);
}

static void convolve_copies_row(const struct cm_depthwise *d)
{
    convolve_copies_3x3(d, cm_isa_depthwise_3x3_s8_row);
}

static void convolve_copies_stride_2(const struct cm_depthwise *d)
{
    convolve_copies_3x3(d, cm_isa_depthwise_3x3_s8_stride_2);
}

void cm_depthwise_conv2d_3x3_copies(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, convolve_copies);
}

void cm_depthwise_conv2d_3x3_row_copies(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, convolve_copies_row);
}

void cm_depthwise_conv2d_3x3_stride_2_copies(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, convolve_copies_stride_2);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_depthwise_conv2d *op = call->arguments;
    cm_clamp_rows(context, call, &op->output, op->output.channels, op->minimum, op->maximum);
}

/* By loops that saturate to int8. */
static void convolve_bytes(const struct cm_context *context, const struct cm_call *call,
                           void (*microkernel)(const struct cm_depthwise *))
{
    const struct cm_depthwise_conv2d *op = call->arguments;
    convolve(context, call, microkernel);
    if (op->minimum > INT8_MIN || op->maximum < INT8_MAX)
        clamp(context, call);
}

void cm_depthwise_conv2d_long(const struct cm_context *context, const struct cm_call *call)
{
    convolve_bytes(context, call, cm_isa_depthwise_long_s8);
}

void cm_depthwise_conv2d_long_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve_bytes(context, call, cm_isa_depthwise_long_s8_half_up);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_depthwise_conv2d_3x3_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_copies_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_copies(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_row_copies_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_row_copies(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_stride_2_copies_clamped(const struct cm_context *context,
                                                     const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_stride_2_copies(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_half_up(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_row_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_row(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_row_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_row_half_up(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_stride_2_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_stride_2(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_3x3_stride_2_half_up_clamped(const struct cm_context *context,
                                                      const struct cm_call *call)
{
    cm_depthwise_conv2d_3x3_stride_2_half_up(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_5x5_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_5x5(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_grouped_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_grouped(context, call);
    clamp(context, call);
}

void cm_depthwise_conv2d_grouped_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_depthwise_conv2d_grouped_half_up(context, call);
    clamp(context, call);
}

static void convolve_narrow(const struct cm_context *context, const struct cm_call *call,
                            void (*microkernel)(const struct cm_depthwise *))
{
    convolve_any(context, call, true, microkernel);
}

/* By loops that saturate to int8. */
static void convolve_narrow_bytes(const struct cm_context *context, const struct cm_call *call,
                                  void (*microkernel)(const struct cm_depthwise *))
{
    const struct cm_depthwise_conv2d *op = call->arguments;
    convolve_narrow(context, call, microkernel);
    if (op->minimum > INT8_MIN || op->maximum < INT8_MAX)
        clamp(context, call);
}

void cm_depthwise_conv2d_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow(context, call, cm_isa_depthwise_narrow_s8);
}

void cm_depthwise_conv2d_3x3_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_3x3_s8);
}

void cm_depthwise_conv2d_3x3_half_up_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_3x3_s8_half_up);
}

void cm_depthwise_conv2d_3x3_row_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_3x3_s8_row);
}

void cm_depthwise_conv2d_3x3_row_half_up_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_3x3_s8_row_half_up);
}

void cm_depthwise_conv2d_3x3_stride_2_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_3x3_s8_stride_2);
}

void cm_depthwise_conv2d_3x3_stride_2_half_up_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_3x3_s8_stride_2_half_up);
}

void cm_depthwise_conv2d_3x3_copies_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, convolve_copies);
}

void cm_depthwise_conv2d_3x3_row_copies_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, convolve_copies_row);
}

void cm_depthwise_conv2d_3x3_stride_2_copies_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, convolve_copies_stride_2);
}

void cm_depthwise_conv2d_5x5_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_5x5_s8);
}

void cm_depthwise_conv2d_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_long_s8);
}

void cm_depthwise_conv2d_long_half_up_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow_bytes(context, call, cm_isa_depthwise_long_s8_half_up);
}

void cm_depthwise_conv2d_3x3_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow(context, call, cm_isa_depthwise_3x3_s16);
}

void cm_depthwise_conv2d_3x3_s16_rectified_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow(context, call, cm_isa_depthwise_3x3_s16_rectified);
}

void cm_depthwise_conv2d_3x3_s16_stride_2_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve_narrow(context, call, cm_isa_depthwise_3x3_s16_stride_2);
}

void cm_depthwise_conv2d_3x3_s16_stride_2_rectified_w4(const struct cm_context *context,
                                                       const struct cm_call *call)
{
    convolve_narrow(context, call, cm_isa_depthwise_3x3_s16_stride_2_rectified);
}
