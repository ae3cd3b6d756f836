/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_UPSAMPLE_BILINEAR_EXACT_H
#define CMRT_ARGS_UPSAMPLE_BILINEAR_EXACT_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Images and the weights of their rows and columns. */
struct cm_upsample_bilinear_exact {
    struct cm_rows input;
    struct cm_rows output;
    /* a struct cm_blend for each output row */
    cm_ref rows;
    /* a struct cm_blend for each output column */
    cm_ref columns;
};

#endif
