/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SOFTMAX_S8_H
#define CMRT_ARGS_SOFTMAX_S8_H

#include "cmrt/program.h"

/* Rows of int8 elements and the table of their exponentials. */
struct cm_softmax_s8 {
    cm_ref input;
    cm_ref exponentials;
    cm_ref output;
    int32_t rows;
    int32_t length;
    int32_t finer_bits;
};

#endif
