/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_ROWS_H
#define CMRT_ARGS_ROWS_H

#include "cmrt/program.h"

/* Rows of an NHWC tensor. Row y of batch n lies at data + n * batch_stride + (y mod ring) * row_stride.
   Rows outside [0, height) do not exist; kernels substitute the zero point. Whole tensors have ring ==
   height. Channels are bytes, as are strides. */
struct cm_rows {
    cm_ref data;
    int32_t batch;
    int32_t height;
    int32_t width;
    int32_t channels;
    int32_t batch_stride;
    int32_t row_stride;
    int32_t ring;
};

#endif
