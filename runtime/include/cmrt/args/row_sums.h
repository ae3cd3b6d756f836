/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_ROW_SUMS_H
#define CMRT_ARGS_ROW_SUMS_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Sums of each channel over some rows of an image, and over some columns of them. */
struct cm_row_sums {
    struct cm_rows input;
    /* int32 of each channel, kept from call to call */
    cm_ref sums;
    int32_t first_row;
    int32_t rows;
    int32_t first_column;
    /* pixels of each row from the first column on */
    int32_t columns;
};

#endif
