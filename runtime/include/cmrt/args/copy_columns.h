/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_COPY_COLUMNS_H
#define CMRT_ARGS_COPY_COLUMNS_H

#include "cmrt/program.h"

/* Bytes of each row of an image that go to a row of another ring, or elsewhere in the same. */
struct cm_copy_columns {
    cm_ref source;
    /* bytes from row to row */
    int32_t source_row;
    /* rows in memory */
    int32_t source_ring;
    cm_ref target;
    int32_t target_row;
    int32_t target_ring;
    int32_t bytes;
};

#endif
