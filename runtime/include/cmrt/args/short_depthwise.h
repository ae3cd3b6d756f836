/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_DEPTHWISE_H
#define CMRT_ARGS_SHORT_DEPTHWISE_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Windows of int16 images, one filter per channel; channels of images are bytes. */
struct cm_short_depthwise {
    struct cm_rows input;
    struct cm_rows output;
    cm_ref weights;
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
