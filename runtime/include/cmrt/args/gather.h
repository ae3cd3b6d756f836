/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_GATHER_H
#define CMRT_ARGS_GATHER_H

#include "cmrt/program.h"

/* Elements at the indices in another tensor. */
struct cm_gather {
    cm_ref input;
    cm_ref index;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* of an element */
    int32_t size;
    /* of the innermost loop, in bytes */
    int32_t input_step;
    /* in elements */
    int32_t index_step;
    /* enum cm_element */
    int32_t index_type;
    /* bytes from one index to the next */
    int32_t index_stride;
    int32_t index_count;
};

#endif
