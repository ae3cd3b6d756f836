/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AVG_POOL2D_S16_H
#define CMRT_ARGS_AVG_POOL2D_S16_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Means over windows of int16, clamped; channels are bytes. */
struct cm_avg_pool2d_s16 {
    struct cm_rows input;
    struct cm_rows output;
    cm_ref row_table;
    int16_t kernel_height;
    int16_t kernel_width;
    int16_t stride_height;
    int16_t stride_width;
    int16_t pad_top;
    int16_t pad_left;
    int16_t dilation_height;
    int16_t dilation_width;
    int32_t minimum;
    int32_t maximum;
};

#endif
