/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_PIXEL_CONV2D_H
#define CMRT_ARGS_PIXEL_CONV2D_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Windows of one pixel: the image is the matrix. */
struct cm_pixel_conv2d {
    struct cm_rows input;
    struct cm_rows output;
    /* bytes from one output pixel to the next */
    int32_t output_pixel;
    cm_ref weights;
    cm_ref workspace;
    /* of the product: input channels of a group */
    int32_t depth;
    int16_t stride_height;
    int16_t stride_width;
    int32_t groups;
    /* bytes of packed weights per group */
    int32_t group_weights;
    int16_t zero_point;
    int8_t minimum;
    int8_t maximum;
    int16_t input_zero_point;
    int16_t rounding;
    /* rows of pixels that follow each other make such rows of outputs */
    int32_t joined;
};

#endif
