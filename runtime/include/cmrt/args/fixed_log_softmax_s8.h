/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_FIXED_LOG_SOFTMAX_S8_H
#define CMRT_ARGS_FIXED_LOG_SOFTMAX_S8_H

#include "cmrt/program.h"

/* Rows of int8 elements and the table of their exponentials, of 19 fractional bits. */
struct cm_fixed_log_softmax_s8 {
    cm_ref input;
    cm_ref exponentials;
    cm_ref output;
    int32_t rows;
    int32_t length;
    int32_t multiplier;
    int32_t shift;
    int32_t least;
    int32_t reverse_multiplier;
    int32_t reverse_shift;
};

#endif
