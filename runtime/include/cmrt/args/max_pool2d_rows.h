/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MAX_POOL2D_ROWS_H
#define CMRT_ARGS_MAX_POOL2D_ROWS_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* The maximum over one window, row by row. */
struct cm_max_pool2d_rows {
    struct cm_rows input;
    /* of each channel so far; kept from call to call */
    cm_ref maxima;
    int32_t first_row;
    int32_t rows;
    int32_t first_column;
    /* pixels of each row from the first column on */
    int32_t columns;
    cm_ref output;
    int32_t minimum;
    int32_t maximum;
};

#endif
