/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SCATTER_H
#define CMRT_ARGS_SCATTER_H

#include "cmrt/program.h"

/* Elements that replace others, or are added to them, at the indices in a tensor. */
struct cm_scatter {
    cm_ref index;
    cm_ref values;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* of the innermost loop, in elements */
    int32_t index_step;
    /* in bytes */
    int32_t values_step;
    int32_t output_step;
    /* enum cm_element */
    int32_t index_type;
    int32_t type;
    /* or replaces */
    int32_t adds;
    /* bytes from one index to the next */
    int32_t index_stride;
    int32_t index_count;
};

#endif
