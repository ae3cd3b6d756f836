/* Convolution as a matrix product over a strip; see compiler/cmcompiler/ops/conv2d.py.

   A strip holds some columns of the input one after the other, each of the pixels of one window's rows. A
   window is then columns that follow each other, and neighbouring windows share those that they have in
   common: three times less memory than a patch for each window takes where the kernel has three columns. Cho
   and Brand, "MEC: Memory-efficient Convolution for Deep Neural Network" (2017), do so with columns for rows.
 */
#include "cmrt/args/strip_conv2d.h"
#include "cmrt/clamp_rows.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

#include <stdbool.h>
#include <string.h>

/* Rows of the input that a row of windows sees; those outside of the image are padding. */
struct seen {
    int32_t top, end;
};

/* So many columns of the input from column `left` on.

   image: its first pixel. */
static void copy_columns(const struct cm_strip_conv2d *op, const int8_t *image, struct seen seen,
                         int32_t left, int32_t columns, int8_t *strip)
{
    const int32_t pixel = op->input.channels, top = seen.top, bottom = seen.end;
    const int32_t column = (bottom - top) * pixel, padding = op->input_zero_point;
    const int32_t first = cm_clamp(-left, 0, columns);
    const int32_t end = cm_clamp(op->input.width - left, first, columns);
    const int8_t *const in = image + (left + first) * pixel;
    int8_t *out = strip + first * column;
    if (top < 0 || bottom > op->input.height) {
        memset(strip, padding, (size_t)(columns * column));
    } else {
        if (first > 0)
            memset(strip, padding, (size_t)(first * column));
        if (end < columns)
            memset(strip + end * column, padding, (size_t)((columns - end) * column));
    }
    const int32_t above = top < 0 ? -top : 0;
    const int32_t rows = (bottom < op->input.height ? bottom : op->input.height) - top;
    uint32_t offset = cm_row_offset(&op->input, 0, top + above);
    const uint32_t stride = (uint32_t)op->input.row_stride, ring_bytes = (uint32_t)op->input.ring * stride;
    out += above * pixel;
    for (int32_t row = above; row < rows; ++row, out += pixel) {
        cm_isa_copy_pixels_s8(out, column, in + offset, pixel, end - first);
        offset += stride;
        if (offset == ring_bytes)
            offset = 0;
    }
}

/* Where there is room for the columns of a whole row: in the memory of output rows that this call is yet to
   compute, those from `y` on; or NULL. */
static int8_t *find_room(const struct cm_context *context, const struct cm_strip_conv2d *op, int32_t n,
                         int32_t y, int32_t y1, int32_t bytes)
{
    enum { ALIGN = 16 };
    const struct cm_rows *const rows = &op->output;
    const int32_t left = cm_rows_to_end(rows, y, y1 - y);
    if (rows->row_stride != rows->width * rows->channels || left * rows->row_stride < bytes + ALIGN - 1)
        return NULL;
    int8_t *const room = cm_write_row(context, rows, n, y);
    return room + (-(uintptr_t)room & (ALIGN - 1));
}

/* The products of a kernel, the second one NULL if it takes all windows whole. */
struct products {
    void (*multiply)(const struct cm_gemm *);
    void (*multiply_cut)(const struct cm_cut_gemm *);
};

/* Leaves out what is above or below the image, where products can do without. */
static __attribute__((cold, noinline)) bool cut(const struct cm_strip_conv2d *op, struct cm_cut_gemm *gemm,
                                                struct seen *seen)
{
    const int32_t pixel = op->input.channels, top = seen->top > 0 ? seen->top : 0;
    const int32_t end = seen->end < op->input.height ? seen->end : op->input.height;
    const int32_t above = top - seen->top, below = seen->end - end, left = (end - top) * pixel;
    if ((above > 0) == (below > 0) || !cm_cut_suits(op->kernel_width, left))
        return false;
    gemm->part = op->kernel_height * pixel;
    gemm->first = above * pixel;
    gemm->left = left;
    gemm->padding = (int8_t)op->input_zero_point;
    *seen = (struct seen){top, end};
    return true;
}

/* Output row y, so many pixels at once. */
static void convolve_row(const struct cm_strip_conv2d *op, const struct products *products,
                         struct cm_cut_gemm *gemm, const int8_t *image, int32_t y, int32_t chunk,
                         int8_t *strip)
{
    struct cm_gemm *const product = &gemm->product;
    const int32_t width = op->output.width, top = y * op->stride_height - op->pad_top;
    struct seen seen = {top, top + op->kernel_height};
    bool is_cut = false;
    if (products->multiply_cut != NULL && (top < 0 || seen.end > op->input.height))
        is_cut = cut(op, gemm, &seen);
    product->lhs = strip;
    product->lhs_stride = op->stride_width * (seen.end - seen.top) * op->input.channels;
    for (int32_t x = 0; x < width; x += chunk) {
        product->rows = width - x < chunk ? width - x : chunk;
        copy_columns(op, image, seen, x * op->stride_width - op->pad_left,
                     (product->rows - 1) * op->stride_width + op->kernel_width, strip);
        if (is_cut)
            products->multiply_cut(gemm);
        else
            products->multiply(product);
        product->out += product->rows * op->output_pixel;
    }
}

/* Both are parameters, as the linker keeps all functions that constant structs of a file name. */
static void convolve(const struct cm_context *context, const struct cm_call *call,
                     void (*multiply)(const struct cm_gemm *),
                     void (*multiply_cut)(const struct cm_cut_gemm *))
{
    const struct products products = {multiply, multiply_cut};
    const struct cm_strip_conv2d *op = call->arguments;
    const int32_t column = op->kernel_height * op->input.channels, width = op->output.width;
    const int32_t columns = (width - 1) * op->stride_width + op->kernel_width;
    struct cm_cut_gemm gemm;
    gemm.product.weights = cm_read(context, op->weights);
    gemm.product.depth = op->kernel_width * column;
    gemm.product.columns = op->output.channels;
    gemm.product.out_stride = op->output_pixel;
    gemm.product.workspace = cm_write(context, op->workspace);
    gemm.product.output = (struct cm_output){op->zero_point, op->minimum, op->maximum, op->rounding};
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y) {
            const int8_t *const image =
                (const int8_t *)cm_read(context, op->input.data) + n * op->input.batch_stride;
            int8_t *strip = NULL;
            gemm.product.out = cm_write_row(context, &op->output, n, y);
            if (op->chunk < width && y + 1 < call->y1)
                strip = find_room(context, op, n, y + 1, call->y1, columns * column);
            if (strip != NULL)
                convolve_row(op, &products, &gemm, image, y, width, strip);
            else
                convolve_row(op, &products, &gemm, image, y, op->chunk, cm_write(context, op->strip));
        }
}

void cm_strip_conv2d(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8, NULL);
}

void cm_strip_conv2d_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_general, NULL);
}

void cm_strip_conv2d_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_half_up, NULL);
}

/* With Helium, by depth. */
void cm_strip_conv2d_shallow(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow, NULL);
}

void cm_strip_conv2d_shallow_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_shallow_half_up, NULL);
}

void cm_strip_conv2d_deep(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep, NULL);
}

void cm_strip_conv2d_deep_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep_half_up, NULL);
}

/* Where windows cross the top or the bottom of the image, and are pairs of vectors without the padding. */
void cm_strip_conv2d_cut(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8, cm_isa_gemm_s8_cut);
}

void cm_strip_conv2d_cut_deep(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep, cm_isa_gemm_s8_cut);
}

void cm_strip_conv2d_cut_deep_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_deep_half_up, cm_isa_gemm_s8_cut);
}

/* With weights of four bits. */
void cm_strip_conv2d_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4, NULL);
}

void cm_strip_conv2d_w4_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_general, NULL);
}

void cm_strip_conv2d_w4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_half_up, NULL);
}

void cm_strip_conv2d_cut_w4(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4, cm_isa_gemm_s8_w4_cut);
}

void cm_strip_conv2d_cut_w4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w4_half_up, cm_isa_gemm_s8_w4_cut);
}

/* Of int16. All sizes of the arguments are bytes. */
void cm_strip_conv2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16, NULL);
}

void cm_strip_conv2d_cut_s16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s16, cm_isa_gemm_s16_cut);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_strip_conv2d *op = call->arguments;
    cm_clamp_rows(context, call, &op->output, op->output_pixel, op->minimum, op->maximum);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_strip_conv2d_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_half_up(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_shallow_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_shallow(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_shallow_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_shallow_half_up(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_deep_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_deep(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_deep_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_deep_half_up(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_cut_deep_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_cut_deep(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_cut_deep_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_cut_deep_half_up(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_w4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_w4(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_w4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_w4_half_up(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_cut_w4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_cut_w4(context, call);
    clamp(context, call);
}

void cm_strip_conv2d_cut_w4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_strip_conv2d_cut_w4_half_up(context, call);
    clamp(context, call);
}
