/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_CONV2D_H
#define CMRT_ARGS_CONV2D_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* A patch is the input of one window: kernel rows, kernel columns, channels of a group. */
struct cm_conv2d {
    struct cm_rows input;
    struct cm_rows output;
    /* bytes from one output pixel to the next */
    int32_t output_pixel;
    cm_ref weights;
    cm_ref workspace;
    cm_ref patches;
    int16_t kernel_height;
    int16_t kernel_width;
    int16_t stride_height;
    int16_t stride_width;
    int16_t pad_top;
    int16_t pad_left;
    int16_t dilation_height;
    int16_t dilation_width;
    /* the first output column whose window crosses no side of the image */
    int32_t inside;
    /* the column after the last such one */
    int32_t inside_end;
    int32_t groups;
    /* bytes of packed weights per group */
    int32_t group_weights;
    /* patches in the buffer */
    int32_t patch_count;
    /* bytes from one patch to the next */
    int32_t patch_stride;
    int16_t zero_point;
    int8_t minimum;
    int8_t maximum;
    int16_t input_zero_point;
    int16_t rounding;
};

#endif
