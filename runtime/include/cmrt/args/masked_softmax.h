/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MASKED_SOFTMAX_H
#define CMRT_ARGS_MASKED_SOFTMAX_H

#include "cmrt/program.h"

/* Int8 rows, and a mask of the elements that count. */
struct cm_masked_softmax {
    cm_ref input;
    cm_ref mask;
    cm_ref exponentials;
    cm_ref output;
    /* scratch for a row */
    cm_ref kept;
    cm_ref levels;
    int32_t depth;
    int32_t length;
    int32_t mask_step;
    int32_t finer_bits;
    int32_t is_empty_unmasked;
    int32_t of_empty;
};

#endif
