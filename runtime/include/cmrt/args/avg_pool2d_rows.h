/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AVG_POOL2D_ROWS_H
#define CMRT_ARGS_AVG_POOL2D_ROWS_H

#include "cmrt/args/row_sums.h"
#include "cmrt/program.h"

/* The mean over one window, row by row. */
struct cm_avg_pool2d_rows {
    struct cm_row_sums total;
    cm_ref output;
};

#endif
