/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SIDE_H
#define CMRT_ARGS_SIDE_H

#include "cmrt/program.h"

/* Vectors that are multiplied with others. Steps in bytes. */
struct cm_side {
    cm_ref data;
    int32_t batch;
    int32_t step;
    int32_t block;
};

#endif
