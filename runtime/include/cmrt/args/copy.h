/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_COPY_H
#define CMRT_ARGS_COPY_H

#include "cmrt/program.h"

/* Loops around rows of `count` elements, which are copied. */
struct cm_copy {
    cm_ref input;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t rows;
    int32_t count;
    /* of an element */
    int32_t size;
    /* steps in bytes */
    int32_t input_step;
    int32_t output_step;
    int32_t input_row;
    int32_t output_row;
};

#endif
