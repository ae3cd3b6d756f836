/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_PRELU_S8_H
#define CMRT_ARGS_PRELU_S8_H

#include "cmrt/program.h"

/* Factors within 32 bits, and one shift for all. */
struct cm_prelu_s8 {
    cm_ref input;
    cm_ref output;
    cm_ref below;
    int32_t rows;
    int32_t channels;
    int32_t above;
    int32_t shift;
    int32_t input_zero_point;
    /* added before the shift */
    int32_t offset;
};

#endif
