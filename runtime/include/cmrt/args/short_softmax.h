/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_SOFTMAX_H
#define CMRT_ARGS_SHORT_SOFTMAX_H

#include "cmrt/program.h"

/* Rows of elements, and the tables of exponentials and of reciprocals. */
struct cm_short_softmax {
    cm_ref input;
    cm_ref output;
    cm_ref exponentials;
    cm_ref reciprocals;
    int32_t rows;
    int32_t length;
    int32_t size;
    int32_t multiplier;
    int32_t shift;
    /* smaller exponentials than those of the table are 0 */
    int32_t is_cut;
};

#endif
