/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_POOL_H
#define CMRT_ARGS_POOL_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Images, the windows over them, and a table of the rows of a window. */
struct cm_pool {
    struct cm_rows input;
    struct cm_rows output;
    /* of kernel_height */
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
