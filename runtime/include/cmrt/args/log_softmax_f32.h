/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_LOG_SOFTMAX_F32_H
#define CMRT_ARGS_LOG_SOFTMAX_F32_H

#include "cmrt/program.h"

/* Rows of floats, whose results are logarithms. */
struct cm_log_softmax_f32 {
    cm_ref input;
    cm_ref output;
    int32_t rows;
    int32_t length;
};

#endif
