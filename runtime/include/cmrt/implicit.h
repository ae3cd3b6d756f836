/* Convolution as an implicit matrix product: windows are packed from where they lie in the image, some at a
   time, and patches are stored nowhere; see compiler/cmcompiler/ops/conv2d.py. */
#ifndef CMRT_IMPLICIT_H
#define CMRT_IMPLICIT_H

#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/read_strip.h"
#include "cmrt/rows.h"

#include <stdbool.h>

typedef void cm_pack_function(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                              int32_t bytes);
/* Rows of windows in turn, each so many bytes after the one before. */
typedef void cm_pack_windows_function(struct cm_gemm *gemm, const int8_t *in, int32_t stride, int32_t bytes,
                                      int32_t row_stride);
typedef void cm_product_function(const struct cm_gemm *gemm);

/* Whether all rows of windows from row `top` on are in the image, and follow each other. */
static bool has_whole_windows(const struct cm_implicit_conv2d *op, int32_t top)
{
    return cm_windows_in_one_piece(&op->input, top, op->depth / op->row_depth - 1, 1, 1) > 0;
}

/* windows: packed at once; pack_windows: NULL for none. */
static void cm_convolve_implicitly(const struct cm_context *context, const struct cm_call *call,
                                   cm_pack_function *pack, cm_pack_windows_function *pack_windows,
                                   cm_product_function *multiply, int32_t windows)
{
    const struct cm_implicit_conv2d *op = call->arguments;
    const int8_t *const image = cm_read(context, op->input.data);
    int8_t *const strip = cm_write(context, op->scratch);
    struct cm_gemm gemm = {
        .rows = windows,
        .weights = cm_read(context, op->weights),
        .depth = op->depth,
        .columns = op->output.channels,
        .out_stride = op->output_pixel,
        .workspace = strip + op->strip,
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
    for (int32_t y = call->y0; y < call->y1; ++y) {
        const int32_t top = y * op->stride_height - op->pad_top;
        const bool is_whole = pack_windows != NULL && has_whole_windows(op, top);
        const int8_t *const rows = is_whole ? image + cm_row_offset(&op->input, 0, top) : NULL;
        const int32_t last = op->input.width * op->input.channels - op->strip;
        int32_t left = -op->left;
        gemm.out = cm_write_row(context, &op->output, 0, y);
        for (int32_t x = 0; x < op->output.width; x += windows) {
            int32_t row = top;
            if (is_whole && left >= 0 && left <= last)
                pack_windows(&gemm, rows + left, op->step, op->row_depth, op->input.row_stride);
            else
                for (int32_t at = 0; at < op->depth; at += op->row_depth)
                    pack(&gemm, at, cm_read_strip(op, image, row++, left, strip), op->step, op->row_depth);
            multiply(&gemm);
            gemm.out += windows * op->output_pixel;
            left += windows * op->step;
        }
    }
}

#endif
