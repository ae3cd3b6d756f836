/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_LINEAR_H
#define CMRT_ARGS_LINEAR_H

#include "cmrt/program.h"

/* Rows of features that are multiplied as convolutions multiply their patches. */
struct cm_linear {
    cm_ref input;
    cm_ref output;
    cm_ref weights;
    cm_ref workspace;
    int32_t rows;
    int32_t depth;
    int32_t columns;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
    int32_t rounding;
};

#endif
