/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZED_SUM_ROWS_H
#define CMRT_ARGS_QUANTIZED_SUM_ROWS_H

#include "cmrt/args/row_sums.h"
#include "cmrt/args/sum_scale.h"
#include "cmrt/program.h"

/* Sums over rows and columns of an image, row by row. */
struct cm_quantized_sum_rows {
    struct cm_row_sums total;
    cm_ref output;
    struct cm_sum_scale scale;
};

#endif
