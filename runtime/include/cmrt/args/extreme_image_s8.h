/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_EXTREME_IMAGE_S8_H
#define CMRT_ARGS_EXTREME_IMAGE_S8_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* Extremes over rows and columns of an image, row by row. */
struct cm_extreme_image_s8 {
    struct cm_rows input;
    /* so far; kept from call to call */
    cm_ref extremes;
    cm_ref output;
    int32_t rows;
    int32_t flip;
};

#endif
