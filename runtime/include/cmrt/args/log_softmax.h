/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_LOG_SOFTMAX_H
#define CMRT_ARGS_LOG_SOFTMAX_H

#include "cmrt/program.h"

/* Rows of int8 or int16 elements and the table of their exponentials. */
struct cm_log_softmax {
    cm_ref input;
    cm_ref exponentials;
    cm_ref output;
    int32_t rows;
    int32_t length;
    int32_t multiplier;
    int32_t log_multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t is_sum;
    int32_t centre;
};

#endif
