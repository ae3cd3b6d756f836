/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_DEPTHWISE_CONV2D_H
#define CMRT_ARGS_DEPTHWISE_CONV2D_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Bands of output rows, in portions of columns: kernels/depthwise_conv2d.c. */
struct cm_depthwise_conv2d {
    struct cm_rows input;
    struct cm_rows output;
    cm_ref weights;
    cm_ref workspace;
    /* offsets of the rows of some bands: inputs, then outputs */
    cm_ref row_table;
    int16_t kernel_height;
    int16_t kernel_width;
    int16_t stride_height;
    int16_t stride_width;
    int16_t pad_top;
    int16_t pad_left;
    int16_t dilation_height;
    int16_t dilation_width;
    /* output rows that are computed together */
    int16_t band;
    /* most such bands at once */
    int16_t bands;
    /* most output columns at once */
    int32_t chunk;
    int16_t zero_point;
    int8_t minimum;
    int8_t maximum;
    int16_t input_zero_point;
    int16_t rounding;
};

#endif
