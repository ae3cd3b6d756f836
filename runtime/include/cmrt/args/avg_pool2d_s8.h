/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AVG_POOL2D_S8_H
#define CMRT_ARGS_AVG_POOL2D_S8_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Means over windows. */
struct cm_avg_pool2d_s8 {
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
};

#endif
