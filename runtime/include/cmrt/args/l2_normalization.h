/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_L2_NORMALIZATION_H
#define CMRT_ARGS_L2_NORMALIZATION_H

#include "cmrt/program.h"

/* Int8 rows, which are divided by their lengths. */
struct cm_l2_normalization {
    cm_ref input;
    cm_ref output;
    int32_t rows;
    int32_t length;
    int32_t zero_point;
};

#endif
