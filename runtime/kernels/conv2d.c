/* Convolution as a matrix product over patches; see compiler/cmcompiler/ops/conv2d.py. */
#include "cmrt/args/conv2d.h"
#include "cmrt/clamp_rows.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

#include <string.h>

enum {
    ALIGN = 16, /* of patches, for vector loads */
    ROWS = 4    /* that the matrix product takes at once, at most */
};

typedef void product_function(const struct cm_gemm *gemm);

/* a / b, rounded up; at least 0. */
static int32_t divide_up(int32_t a, int32_t b)
{
    if (a <= 0)
        return 0;
    return b == 1 ? a : (a + b - 1) / b;
}

/* So many bytes of each patch; at least one patch. */
static __attribute__((noinline)) void fill(const struct cm_conv2d *op, int8_t *patch, int32_t bytes,
                                           int32_t count)
{
    do {
        memset(patch, op->input_zero_point, (size_t)bytes);
        patch += op->patch_stride;
    } while (--count > 0);
}

/* What does not depend on the patches. A segment is a run of the kernel's columns whose input bytes are
   contiguous. */
static void start_windows(const struct cm_conv2d *op, struct cm_windows *windows)
{
    const int32_t pixel = op->input.channels, row = op->input.row_stride;
    windows->out_stride = op->patch_stride;
    windows->in_stride = op->stride_width * pixel;
    windows->in_step = op->dilation_height * row;
    windows->ring_bytes = op->input.ring * row;
    windows->row_bytes = op->input.width * pixel;
    windows->bytes = op->kernel_width * pixel;
    windows->out_step = windows->bytes;
    if (op->groups != 1 || op->dilation_width != 1) {
        windows->bytes = pixel / op->groups;
        windows->out_step = op->kernel_width * windows->bytes;
    }
}

/* Patches of output pixels [x0, x0 + count) of row y. */
static void gather_row(const struct cm_conv2d *op, struct cm_windows *windows, const int8_t *image, int32_t y,
                       int32_t x0, int32_t count, int8_t *patch)
{
    const int32_t dilation = op->dilation_height, most = op->kernel_height, step = windows->out_step;
    const int32_t top = y * op->stride_height - op->pad_top, below = op->input.height - top;
    int32_t ky = 0, end = most;
    windows->count = count;
    windows->first = cm_clamp(op->inside - x0, 0, count);
    windows->end = cm_clamp(op->inside_end - x0, windows->first, count);
    if (windows->first > 0)
        fill(op, patch, op->patch_stride, windows->first);
    if (windows->end < count)
        fill(op, patch + windows->end * op->patch_stride, op->patch_stride, count - windows->end);
    if (top < 0) {
        ky = divide_up(-top, dilation);
        ky = ky < most ? ky : most;
        fill(op, patch, ky * step, count);
    }
    if (below <= (most - 1) * dilation) {
        end = divide_up(below, dilation);
        end = end > ky ? end : ky;
        fill(op, patch + end * step, (most - end) * step, count);
    }
    windows->rows = end - ky;
    if (windows->rows == 0)
        return;
    windows->in = image + cm_row_offset(&op->input, 0, top + ky * dilation);
    windows->ring_end = image + windows->ring_bytes;
    windows->left = (x0 * op->stride_width - op->pad_left) * op->input.channels;
    windows->out = patch + ky * step;
    const int8_t *const segments_end = windows->out + step;
    do {
        cm_isa_copy_windows_s8(windows);
        windows->out += windows->bytes;
        windows->left += op->dilation_width * op->input.channels;
    } while (windows->out < segments_end);
}

/* Of `count` pixels of a column from row y on, the first ones whose windows lie in one piece of memory; 0 for
   other images. */
static int32_t windows_in_one_piece(const struct cm_conv2d *op, int32_t y, int32_t count)
{
    if (op->output.width != 1 || op->input.width != 1 || op->kernel_width != 1 || op->pad_left != 0)
        return 0;
    int32_t top = y * op->stride_height - op->pad_top;
    int32_t reach = (op->kernel_height - 1) * op->dilation_height;
    return cm_windows_in_one_piece(&op->input, top, reach, op->stride_height, count);
}

/* Patches of so many pixels: windows whose rows are pixels. */
static __attribute__((noinline)) void gather_column(const struct cm_conv2d *op, struct cm_windows windows,
                                                    const int8_t *image, int32_t y, int32_t count,
                                                    int8_t *patch)
{
    const int32_t is_piece = op->groups == 1 && op->dilation_height == 1;
    windows.out = patch;
    windows.in = image + cm_row_offset(&op->input, 0, y * op->stride_height - op->pad_top);
    windows.ring_end = image + windows.ring_bytes;
    windows.in_stride = op->stride_height * op->input.row_stride;
    windows.left = windows.first = 0;
    windows.row_bytes = windows.ring_bytes;
    windows.bytes = is_piece ? op->kernel_height * windows.bytes : windows.bytes;
    windows.rows = is_piece ? 1 : op->kernel_height;
    windows.end = windows.count = count;
    cm_isa_copy_windows_s8(&windows);
}

/* Patches of `count` output pixels from pixel x of row y on, continuing in the next rows.

   image: the group's channels of the first pixel. */
static void gather_patches(const struct cm_conv2d *op, struct cm_windows *windows, const int8_t *image,
                           int32_t y, int32_t x, int32_t count, int8_t *patch)
{
    for (int32_t here; count > 0; count -= here) {
        here = windows_in_one_piece(op, y, count);
        if (here > 0) {
            gather_column(op, *windows, image, y, here, patch);
            y += here;
        } else {
            here = op->output.width - x < count ? op->output.width - x : count;
            gather_row(op, windows, image, y, x, here, patch);
            x = 0;
            ++y;
        }
        patch += here * op->patch_stride;
    }
}

/* How many patches fit into the end of the memory of `left` output pixels yet to be computed, without
   overlapping the outputs computed from those patches. */
static int32_t spare_patches(const struct cm_conv2d *op, int32_t left)
{
    if (op->output_pixel != op->output.channels)
        return 0;
    int32_t spare = (left * op->output_pixel - (ALIGN - 1)) / (op->patch_stride + op->output_pixel);
    return spare - spare % ROWS;
}

/* Output rows [y, y + rows), contiguous in memory. */
static __attribute__((noinline)) void convolve_patches(const struct cm_context *context,
                                                       const struct cm_conv2d *op, product_function *multiply,
                                                       struct cm_gemm *gemm, const int8_t *image, int32_t y,
                                                       int32_t rows)
{
    const uint8_t *const weights = gemm->weights;
    int8_t *out = gemm->out;
    int32_t x = 0;
    struct cm_windows windows;
    start_windows(op, &windows);
    gemm->lhs_stride = op->patch_stride;
    for (int32_t left = rows * op->output.width; left > 0; left -= gemm->rows) {
        int8_t *patches = cm_write(context, op->patches);
        gemm->rows = left;
        if (left > op->patch_count) {
            int32_t spare = spare_patches(op, left);
            gemm->rows = op->patch_count;
            if (spare > gemm->rows) {
                gemm->rows = spare;
                patches = out + left * op->output_pixel - spare * op->patch_stride;
                patches -= (uintptr_t)patches % ALIGN;
            }
        }
        gemm->lhs = patches;
        for (int32_t group = 0; group < op->groups; ++group) {
            gather_patches(op, &windows, image + group * windows.bytes, y, x, gemm->rows, patches);
            gemm->weights = weights + group * op->group_weights;
            gemm->out = out + group * gemm->columns;
            multiply(gemm);
        }
        out += gemm->rows * op->output_pixel;
        for (x += gemm->rows; x >= op->output.width; x -= op->output.width)
            ++y;
    }
}

/* The number of output rows from y on that follow each other in memory, at most `limit`. */
static int32_t contiguous_rows(const struct cm_conv2d *op, int32_t y, int32_t limit)
{
    const struct cm_rows *rows = &op->output;
    if (limit == 1 || rows->row_stride != rows->width * op->output_pixel)
        return 1;
    return cm_rows_to_end(rows, y, limit);
}

static void convolve(const struct cm_context *context, const struct cm_call *call, product_function *multiply)
{
    const struct cm_conv2d *op = call->arguments;
    const int32_t y1 = call->y1, groups = op->groups;
    struct cm_gemm gemm;
    gemm.depth = op->kernel_height * op->kernel_width * op->input.channels / groups;
    gemm.columns = op->output.channels / groups;
    gemm.out_stride = op->output_pixel;
    gemm.workspace = cm_write(context, op->workspace);
    gemm.output = (struct cm_output){op->zero_point, op->minimum, op->maximum, op->rounding};
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0, rows; y < y1; y += rows) {
            rows = contiguous_rows(op, y, y1 - y);
            gemm.weights = cm_read(context, op->weights);
            gemm.out = cm_write_row(context, &op->output, n, y);
            convolve_patches(context, op, multiply, &gemm, cm_read_row(context, &op->input, n, 0), y, rows);
        }
}

void cm_conv2d(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8);
}

void cm_conv2d_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_general);
}

void cm_conv2d_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_half_up);
}

/* With Helium, by depth. */
void cm_conv2d_shallow(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow);
}

void cm_conv2d_shallow_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow_half_up);
}

void cm_conv2d_deep(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep);
}

void cm_conv2d_deep_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep_half_up);
}

/* With weights whose pairs do not suit the DSP extension. */
void cm_conv2d_apart(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_apart);
}

void cm_conv2d_apart_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_apart_general);
}

void cm_conv2d_g4_apart(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_apart);
}

void cm_conv2d_g4_apart_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_apart_general);
}

/* With weights of int16. */
void cm_conv2d_w16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16);
}

void cm_conv2d_w16_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16_general);
}

/* With weights of four bits. */
void cm_conv2d_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4);
}

void cm_conv2d_w4_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_general);
}

void cm_conv2d_w4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_half_up);
}

/* With such in groups of depths. */
void cm_conv2d_g4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4);
}

void cm_conv2d_g4_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_general);
}

void cm_conv2d_g4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_g4_half_up);
}

/* Of int16. All sizes of the arguments are bytes. */
void cm_conv2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16);
}

void cm_conv2d_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16_long);
}

void cm_conv2d_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16_w4);
}

void cm_conv2d_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16_long_w4);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_conv2d *op = call->arguments;
    cm_clamp_rows(context, call, &op->output, op->output_pixel, op->minimum, op->maximum);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_conv2d_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d(context, call);
    clamp(context, call);
}

void cm_conv2d_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_half_up(context, call);
    clamp(context, call);
}

void cm_conv2d_shallow_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_shallow(context, call);
    clamp(context, call);
}

void cm_conv2d_shallow_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_shallow_half_up(context, call);
    clamp(context, call);
}

void cm_conv2d_deep_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_deep(context, call);
    clamp(context, call);
}

void cm_conv2d_deep_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_deep_half_up(context, call);
    clamp(context, call);
}

void cm_conv2d_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_apart(context, call);
    clamp(context, call);
}

void cm_conv2d_g4_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_g4_apart(context, call);
    clamp(context, call);
}

void cm_conv2d_w16_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_w16(context, call);
    clamp(context, call);
}

void cm_conv2d_w4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_w4(context, call);
    clamp(context, call);
}

void cm_conv2d_w4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_w4_half_up(context, call);
    clamp(context, call);
}

void cm_conv2d_g4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_g4(context, call);
    clamp(context, call);
}

void cm_conv2d_g4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_conv2d_g4_half_up(context, call);
    clamp(context, call);
}
