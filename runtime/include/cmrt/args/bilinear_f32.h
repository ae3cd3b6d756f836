/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_BILINEAR_F32_H
#define CMRT_ARGS_BILINEAR_F32_H

#include "cmrt/program.h"

/* Images of floats, and what each output row and column blends. Steps in elements. */
struct cm_bilinear_f32 {
    cm_ref input;
    cm_ref output;
    /* a struct blend for each output row and column */
    cm_ref row_table;
    cm_ref column_table;
    /* of the output */
    int32_t batch;
    int32_t channels;
    int32_t rows;
    int32_t columns;
    int32_t input_batch;
    int32_t input_channel;
    int32_t output_batch;
    int32_t output_channels;
    int32_t output_rows;
    int32_t output_columns;
};

#endif
