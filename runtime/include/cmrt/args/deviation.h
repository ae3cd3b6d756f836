/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_DEVIATION_H
#define CMRT_ARGS_DEVIATION_H

#include "cmrt/program.h"

/* Rows of int8 or int16 elements, and what becomes of their variance. */
struct cm_deviation {
    cm_ref input;
    cm_ref output;
    int32_t rows;
    int32_t length;
    int32_t is_centred;
    int32_t centre;
    int32_t is_root;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
};

#endif
