/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_IMPLICIT_CONV2D_H
#define CMRT_ARGS_IMPLICIT_CONV2D_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* One image in one group. Rows of outputs are a multiple of the windows packed at once: four, or two of
   int16. Pixels of the input are one of four bytes. */
struct cm_implicit_conv2d {
    struct cm_rows input;
    struct cm_rows output;
    /* bytes from one output pixel to the next */
    int32_t output_pixel;
    cm_ref weights;
    /* a strip, or three, then the workspace of the product */
    cm_ref scratch;
    /* bytes of a window */
    int32_t depth;
    /* bytes of a row of a window */
    int32_t row_depth;
    /* bytes that windows packed at once see of a row */
    int32_t strip;
    /* bytes from one window to the next */
    int32_t step;
    /* bytes of padding at the left */
    int32_t left;
    int16_t stride_height;
    int16_t pad_top;
    int16_t zero_point;
    int8_t minimum;
    int8_t maximum;
    int16_t input_zero_point;
    int16_t rounding;
};

#endif
