/* Convolution as a matrix product over patches; see compiler/cmcompiler/ops/conv2d.py. */
#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

#include <string.h>

/* A patch is the input of one window: kernel rows, kernel columns, channels of a group. A kernel of one pixel
   needs no buffer for patches: the input's pixels are the rows of the product. */
struct cm_conv2d {
    struct cm_rows input, output;
    int32_t output_pixel; /* bytes from one output pixel to the next */
    cm_ref weights;
    cm_ref patches; /* or CM_REF_NONE */
    cm_ref workspace;
    int16_t kernel_height, kernel_width, stride_height, stride_width;
    int16_t pad_top, pad_left, dilation_height, dilation_width;
    int32_t inside, inside_end;        /* output columns whose windows cross no side of the image */
    int32_t groups, group_weights;     /* bytes of packed weights per group */
    int32_t patch_count, patch_stride; /* patches in the buffer, and bytes from one to the next */
    int16_t zero_point;
    int8_t minimum, maximum;
    int16_t input_zero_point, rounding;
};

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

/* Of output pixels [x0, x0 + count) of a row, those from `first` to `end` have windows that cross no side of
   the image. */
struct span {
    int32_t x0, count, first, end;
};

/* Rows of the input that follow each other in memory at one distance, and where the first one's part of the
   first patch is. A segment is a run of the kernel's columns whose input bytes are contiguous. */
struct block {
    const int8_t *in;
    int8_t *patches;
    int32_t rows, in_step, step;
    int32_t columns, column_bytes;
    int32_t left; /* where the first patch's segment begins */
};

/* Kernel rows outside the image: so many bytes of each patch. */
static void fill_rows(const struct cm_conv2d *op, int8_t *patches, int32_t bytes, int32_t count)
{
    if (bytes <= 0)
        return;
    memset(patches, op->input_zero_point, (size_t)bytes);
    cm_isa_copy_blocks_s8(patches + op->patch_stride, op->patch_stride, patches, 0, bytes, count - 1);
}

static void fill_patches(const struct cm_conv2d *op, int8_t *patches, int32_t count)
{
    if (count > 0)
        memset(patches, op->input_zero_point, (size_t)(count * op->patch_stride));
}

/* A segment of patches [i, end), one after the other: what lies inside the image. */
static void copy_windows(const struct cm_conv2d *op, const struct block *block, int32_t i, int32_t end)
{
    for (; i < end; ++i) {
        int32_t column = block->left + i * op->stride_width;
        int32_t before = cm_clamp(-column, 0, block->columns);
        int32_t inside = cm_clamp(op->input.width - column, before, block->columns) - before;
        cm_isa_copy_blocks_s8(block->patches + i * op->patch_stride + before * block->column_bytes,
                              block->step, block->in + (column + before) * op->input.channels, block->in_step,
                              inside * block->column_bytes, block->rows);
    }
}

/* A segment of patches [first, end) inside the image, one row of the window after the other. */
static void copy_rows(const struct cm_conv2d *op, const struct block *block, int32_t first, int32_t end)
{
    int32_t pixel = op->input.channels, step = op->stride_width;
    const int8_t *in = block->in + (block->left + first * step) * pixel;
    int8_t *out = block->patches + first * op->patch_stride;
    for (int32_t row = 0; row < block->rows; ++row, in += block->in_step, out += block->step)
        cm_isa_copy_blocks_s8(out, op->patch_stride, in, step * pixel, block->columns * block->column_bytes,
                              end - first);
}

static void copy_block(const struct cm_conv2d *op, struct block *block, const struct span *span)
{
    int32_t by_rows = span->end - span->first > block->rows;
    block->left = span->x0 * op->stride_width - op->pad_left;
    for (int32_t kx = 0; kx < op->kernel_width; kx += block->columns) {
        int32_t first = by_rows ? span->first : span->count;
        if (first > 0)
            copy_windows(op, block, 0, first);
        if (by_rows) {
            copy_rows(op, block, span->first, span->end);
            if (span->end < span->count)
                copy_windows(op, block, span->end, span->count);
        }
        block->patches += block->columns * block->column_bytes;
        block->left += op->dilation_width;
    }
}

/* Patches of output pixels [x0, x0 + count) of row y. */
static void gather_row(const struct cm_conv2d *op, const int8_t *image, int32_t y, int32_t x0, int32_t count,
                       int32_t channels, int8_t *patch)
{
    int32_t dilation = op->dilation_height, ring = op->input.ring, most = op->kernel_height;
    int32_t first = cm_clamp(op->inside - x0, 0, count);
    struct span span = {x0, count, first, cm_clamp(op->inside_end - x0, first, count)};
    struct block block;
    block.in_step = dilation * op->input.row_stride;
    block.step = op->kernel_width * channels;
    block.columns = op->groups == 1 && op->dilation_width == 1 ? op->kernel_width : 1;
    block.column_bytes = channels;
    int32_t top = y * op->stride_height - op->pad_top, ky = divide_up(-top, dilation);
    int32_t end = divide_up(op->input.height - top, dilation);
    ky = ky < most ? ky : most;
    end = end < most ? end : most;
    fill_patches(op, patch, span.first);
    fill_patches(op, patch + span.end * op->patch_stride, count - span.end);
    fill_rows(op, patch, ky * block.step, count);
    fill_rows(op, patch + end * block.step, (most - end) * block.step, count);
    for (; ky < end; ky += block.rows) {
        int32_t iy = top + ky * dilation, slot = iy < ring ? iy : iy % ring;
        int32_t to_end = divide_up(ring - slot, dilation);
        block.rows = to_end < end - ky ? to_end : end - ky;
        block.in = image + slot * op->input.row_stride;
        block.patches = patch + ky * block.step;
        copy_block(op, &block, &span);
    }
}

/* Of `count` pixels of a column from row y on, the first ones whose windows lie in one piece of memory; 0 for
   other images. */
static int32_t windows_in_one_piece(const struct cm_conv2d *op, int32_t y, int32_t count)
{
    int32_t top = y * op->stride_height - op->pad_top;
    if (op->output.width != 1 || op->input.width != 1 || op->kernel_width != 1 || op->pad_left != 0)
        return 0;
    int32_t reach = (op->kernel_height - 1) * op->dilation_height;
    return cm_windows_in_one_piece(&op->input, top, reach, op->stride_height, count);
}

/* Patches of so many pixels. */
static void gather_column(const struct cm_conv2d *op, const int8_t *image, int32_t y, int32_t count,
                          int32_t channels, int8_t *patch)
{
    int32_t step = op->dilation_height * op->input.row_stride;
    int32_t rows = op->groups == 1 && op->dilation_height == 1 ? op->kernel_height : 1;
    const int8_t *in = image + cm_row_offset(&op->input, 0, y * op->stride_height - op->pad_top);
    for (int32_t ky = 0; ky < op->kernel_height; ky += rows, in += step, patch += channels)
        cm_isa_copy_blocks_s8(patch, op->patch_stride, in, op->stride_height * op->input.row_stride,
                              rows * channels, count);
}

/* Patches of `count` output pixels from pixel x of row y on, continuing in the next rows.

   image: the group's channels of the first pixel. */
static void gather_patches(const struct cm_conv2d *op, const int8_t *image, int32_t y, int32_t x,
                           int32_t count, int8_t *patch)
{
    int32_t channels = op->input.channels / op->groups;
    for (int32_t here; count > 0; count -= here) {
        here = windows_in_one_piece(op, y, count);
        if (here > 0) {
            gather_column(op, image, y, here, channels, patch);
            y += here;
        } else {
            here = op->output.width - x < count ? op->output.width - x : count;
            gather_row(op, image, y, x, here, channels, patch);
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
static void convolve_patches(const struct cm_context *context, const struct cm_conv2d *op,
                             product_function *multiply, struct cm_gemm *gemm, int32_t n, int32_t y,
                             int32_t rows)
{
    const int8_t *image = (const int8_t *)cm_read(context, op->input.data) + n * op->input.batch_stride;
    int8_t *out = cm_write_row(context, &op->output, n, y);
    int32_t x = 0;
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
            gather_patches(op, image + group * (op->input.channels / op->groups), y, x, gemm->rows, patches);
            gemm->weights = (const uint8_t *)cm_read(context, op->weights) + group * op->group_weights;
            gemm->out = out + group * gemm->columns;
            multiply(gemm);
        }
        out += gemm->rows * op->output_pixel;
        for (x += gemm->rows; x >= op->output.width; x -= op->output.width)
            ++y;
    }
}

/* Output rows [y, y + rows), contiguous in memory, as are their input rows. */
static void convolve_pixels(const struct cm_context *context, const struct cm_conv2d *op,
                            product_function *multiply, struct cm_gemm *gemm, int32_t n, int32_t y,
                            int32_t rows)
{
    const int8_t *in = cm_read_row(context, &op->input, n, y * op->stride_height);
    int8_t *out = cm_write_row(context, &op->output, n, y);
    gemm->lhs_stride = op->stride_width * op->input.channels;
    gemm->rows = rows * op->output.width;
    for (int32_t group = 0; group < op->groups; ++group) {
        gemm->lhs = in + group * gemm->depth;
        gemm->weights = (const uint8_t *)cm_read(context, op->weights) + group * op->group_weights;
        gemm->out = out + group * gemm->columns;
        multiply(gemm);
    }
}

/* The number of contiguous rows from y on, at most `limit`. */
static int32_t contiguous_rows(const struct cm_rows *rows, int32_t pixel, int32_t y, int32_t limit)
{
    int32_t to_end = rows->ring - y % rows->ring;
    if (rows->row_stride != rows->width * pixel)
        return 1;
    return limit < to_end ? limit : to_end;
}

static void convolve(const struct cm_context *context, const struct cm_call *call, product_function *multiply)
{
    const struct cm_conv2d *op = call->arguments;
    const int32_t y1 = call->y1;
    struct cm_gemm gemm = {
        .depth = op->kernel_height * op->kernel_width * op->input.channels / op->groups,
        .columns = op->output.channels / op->groups,
        .out_stride = op->output_pixel,
        .workspace = cm_write(context, op->workspace),
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
    int32_t same_pixels =
        op->stride_height == 1 && op->stride_width == 1 && op->input.width == op->output.width;
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0, rows; y < y1; y += rows) {
            rows = contiguous_rows(&op->output, op->output_pixel, y, y1 - y);
            if (op->patches != CM_REF_NONE) {
                convolve_patches(context, op, multiply, &gemm, n, y, rows);
                continue;
            }
            rows = same_pixels ? contiguous_rows(&op->input, op->input.channels, y, rows) : 1;
            convolve_pixels(context, op, multiply, &gemm, n, y, rows);
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

/* With weights of int16. */
void cm_conv2d_w16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16);
}

void cm_conv2d_w16_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16_general);
}
