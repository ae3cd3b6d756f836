/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_IMAGES_H
#define CMRT_ARGS_IMAGES_H

#include "cmrt/program.h"

/* Images in any memory order, and the inputs that outputs cover. Steps in elements. */
struct cm_images {
    cm_ref input;
    cm_ref output;
    /* a struct stretch for each output row and column */
    cm_ref row_table;
    cm_ref column_table;
    int32_t row_dilation;
    int32_t column_dilation;
    /* of the output */
    int32_t batch;
    int32_t channels;
    int32_t rows;
    int32_t columns;
    int32_t input_batch;
    int32_t input_channels;
    int32_t input_rows;
    int32_t input_columns;
    int32_t output_batch;
    int32_t output_channels;
    int32_t output_rows;
    int32_t output_columns;
};

#endif
