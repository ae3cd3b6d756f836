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
    int32_t kernel_height, kernel_width, stride_height, stride_width;
    int32_t pad_top, pad_left, dilation_height, dilation_width;
    int32_t groups, group_weights;     /* bytes of packed weights per group */
    int32_t patch_count, patch_stride; /* patches in the buffer, and bytes from one to the next */
    int32_t input_zero_point;
    int32_t zero_point, minimum, maximum, rounding;
};

enum {
    ALIGN = 16, /* of patches, for vector loads */
    ROWS = 4    /* that the matrix product takes at once, at most */
};

/* A run of the kernel's columns whose input bytes are contiguous. */
struct segment {
    int32_t columns, column_bytes, bytes;
};

typedef void product_function(const struct cm_gemm *gemm);

/* a / b, rounded up; at least 0. */
static int32_t divide_up(int32_t a, int32_t b)
{
    return a <= 0 ? 0 : (a + b - 1) / b;
}

/* A segment of the patches of some output pixels of a row: the input column where the first begins, and the
   patches [before, end), which lie inside the image. */
struct span {
    int32_t left, before, end;
};

static struct span find_span(const struct cm_conv2d *op, int32_t x0, int32_t kx, int32_t columns,
                             int32_t count)
{
    int32_t left = x0 * op->stride_width - op->pad_left + kx * op->dilation_width;
    int32_t room = op->input.width - columns - left;
    int32_t end = room < 0 ? 0 : cm_clamp(room / op->stride_width + 1, 0, count);
    return (struct span){left, cm_clamp(divide_up(-left, op->stride_width), 0, end), end};
}

/* Rows [ky, end) of a window that begins at input row `top`: those inside the image. */
struct kernel_rows {
    int32_t top, ky, end;
};

static struct kernel_rows find_rows(const struct cm_conv2d *op, int32_t y)
{
    int32_t top = y * op->stride_height - op->pad_top, step = op->dilation_height;
    int32_t end = divide_up(op->input.height - top, step);
    return (struct kernel_rows){top, divide_up(-top, step),
                                end < op->kernel_height ? end : op->kernel_height};
}

/* Rows that follow each other in memory at one distance, where they are, and where the first one's part of a
   patch is. */
struct block {
    const int8_t *in;
    int8_t *patches;
    int32_t rows, in_step, step;
};

/* A segment of patches [first, end), one after the other: what lies inside the image. */
static void copy_windows(const struct cm_conv2d *op, const struct block *block, struct segment segment,
                         int32_t left, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; ++i) {
        int32_t column = left + i * op->stride_width;
        int32_t before = cm_clamp(-column, 0, segment.columns);
        int32_t inside = cm_clamp(op->input.width - column, before, segment.columns) - before;
        if (inside > 0)
            cm_isa_copy_blocks_s8(block->patches + i * op->patch_stride + before * segment.column_bytes,
                                  block->step, block->in + (column + before) * op->input.channels,
                                  block->in_step, inside * segment.column_bytes, block->rows);
    }
}

/* A segment of the patches of a span, one row of the window after the other. */
static void copy_rows(const struct cm_conv2d *op, const struct block *block, struct segment segment,
                      struct span span)
{
    int32_t pixel = op->input.channels, step = op->stride_width;
    const int8_t *in = block->in + (span.left + span.before * step) * pixel;
    int8_t *out = block->patches + span.before * op->patch_stride;
    for (int32_t row = 0; row < block->rows; ++row, in += block->in_step, out += block->step)
        cm_isa_copy_blocks_s8(out, op->patch_stride, in, step * pixel, segment.bytes, span.end - span.before);
}

static void fill_patches(const struct cm_conv2d *op, int8_t *patch, int32_t first, int32_t end)
{
    if (end > first)
        memset(patch + first * op->patch_stride, op->input_zero_point,
               (size_t)((end - first) * op->patch_stride));
}

/* Patches of output pixels [x0, x0 + count) of row y; those that cross a side of the image are filled first.
 */
static void gather_row(const struct cm_context *context, const struct cm_conv2d *op, int32_t n, int32_t y,
                       int32_t x0, int32_t count, int32_t group, int8_t *patch)
{
    int32_t channels = op->input.channels / op->groups;
    int32_t whole = op->groups == 1 && op->dilation_width == 1;
    int32_t columns = whole ? op->kernel_width : 1;
    struct segment segment = {columns, channels, columns * channels};
    struct kernel_rows rows = find_rows(op, y);
    struct span span = find_span(op, x0, 0, (op->kernel_width - 1) * op->dilation_width + 1, count);
    int32_t crosses = rows.ky > 0 || rows.end < op->kernel_height;
    fill_patches(op, patch, 0, crosses ? count : span.before);
    fill_patches(op, patch, crosses ? count : span.end, count);
    struct block block = {.in_step = op->dilation_height * op->input.row_stride,
                          .step = op->kernel_width * channels};
    for (int32_t ky = rows.ky; ky < rows.end; ky += block.rows) {
        int32_t iy = rows.top + ky * op->dilation_height;
        int32_t to_end = divide_up(op->input.ring - iy % op->input.ring, op->dilation_height);
        block.rows = to_end < rows.end - ky ? to_end : rows.end - ky;
        block.in = cm_read_row(context, &op->input, n, iy) + group * channels;
        block.patches = patch + ky * block.step;
        for (int32_t kx = 0; kx < op->kernel_width; kx += columns, block.patches += segment.bytes) {
            if (!whole)
                span = find_span(op, x0, kx, columns, count);
            int32_t by_rows = span.end - span.before > block.rows;
            copy_windows(op, &block, segment, span.left, 0, by_rows ? span.before : count);
            if (by_rows) {
                copy_rows(op, &block, segment, span);
                copy_windows(op, &block, segment, span.left, span.end, count);
            }
        }
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
static void gather_column(const struct cm_context *context, const struct cm_conv2d *op, int32_t n, int32_t y,
                          int32_t count, int32_t group, int8_t *patch)
{
    int32_t channels = op->input.channels / op->groups, step = op->dilation_height * op->input.row_stride;
    int32_t rows = op->groups == 1 && op->dilation_height == 1 ? op->kernel_height : 1;
    const int8_t *in = cm_read_row(context, &op->input, n, y * op->stride_height - op->pad_top);
    in += group * channels;
    for (int32_t ky = 0; ky < op->kernel_height; ky += rows, in += step, patch += channels)
        cm_isa_copy_blocks_s8(patch, op->patch_stride, in, op->stride_height * op->input.row_stride,
                              rows * channels, count);
}

/* Patches of `count` output pixels from pixel x of row y on, continuing in the next rows. */
static void gather_patches(const struct cm_context *context, const struct cm_conv2d *op, int32_t n, int32_t y,
                           int32_t x, int32_t count, int32_t group, int8_t *patch)
{
    for (int32_t here; count > 0; count -= here) {
        here = windows_in_one_piece(op, y, count);
        if (here > 0) {
            gather_column(context, op, n, y, here, group, patch);
            y += here;
        } else {
            here = op->output.width - x < count ? op->output.width - x : count;
            gather_row(context, op, n, y, x, here, group, patch);
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
    int8_t *out = cm_write_row(context, &op->output, n, y);
    int32_t x = 0;
    gemm->lhs_stride = op->patch_stride;
    for (int32_t left = rows * op->output.width; left > 0; left -= gemm->rows) {
        int8_t *patches = cm_write(context, op->patches);
        int32_t spare = spare_patches(op, left);
        gemm->rows = left < op->patch_count ? left : op->patch_count;
        if (spare > gemm->rows) {
            gemm->rows = spare;
            patches = out + left * op->output_pixel - spare * op->patch_stride;
            patches -= (uintptr_t)patches % ALIGN;
        }
        gemm->lhs = patches;
        for (int32_t group = 0; group < op->groups; ++group) {
            gather_patches(context, op, n, y, x, gemm->rows, group, patches);
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

/* With weights of int16. */
void cm_conv2d_w16(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16);
}

void cm_conv2d_w16_general(const struct cm_context *context, const struct cm_call *call)
{
    convolve(context, call, cm_isa_gemm_s8_w16_general);
}
