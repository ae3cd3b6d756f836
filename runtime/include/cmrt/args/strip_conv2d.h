/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_STRIP_CONV2D_H
#define CMRT_ARGS_STRIP_CONV2D_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Neighbouring windows share columns; depths are kernel columns, kernel rows, channels. */
struct cm_strip_conv2d {
    struct cm_rows input;
    struct cm_rows output;
    /* bytes from one output pixel to the next */
    int32_t output_pixel;
    cm_ref weights;
    cm_ref workspace;
    cm_ref strip;
    int16_t kernel_height;
    int16_t kernel_width;
    int16_t stride_height;
    int16_t stride_width;
    int16_t pad_top;
    int16_t pad_left;
    int16_t dilation_height;
    int16_t dilation_width;
    /* output pixels whose columns the strip holds at once */
    int32_t chunk;
    int16_t zero_point;
    int8_t minimum;
    int8_t maximum;
    int16_t input_zero_point;
    int16_t rounding;
};

#endif
