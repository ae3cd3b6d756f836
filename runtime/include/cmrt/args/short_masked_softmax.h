/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_MASKED_SOFTMAX_H
#define CMRT_ARGS_SHORT_MASKED_SOFTMAX_H

#include "cmrt/args/short_softmax.h"
#include "cmrt/program.h"

/* Int16 rows, and a mask of the elements that count. */
struct cm_short_masked_softmax {
    struct cm_short_softmax softmax;
    cm_ref mask;
    /* scratch for a row */
    cm_ref kept;
    cm_ref levels;
    int32_t depth;
    int32_t mask_step;
    int32_t is_empty_unmasked;
    int32_t of_empty;
};

#endif
