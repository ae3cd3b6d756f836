/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_REDUCTION_H
#define CMRT_ARGS_REDUCTION_H

#include "cmrt/program.h"

/* The loops over groups, and those over the members of a group. */
struct cm_reduction {
    cm_ref input;
    cm_ref output;
    cm_ref group_levels;
    int32_t group_depth;
    cm_ref member_levels;
    int32_t member_depth;
    int32_t member_count;
    int32_t member_step;
    /* enum function */
    int32_t function;
    /* enum cm_element */
    int32_t input_type;
    int32_t output_type;
    uint32_t divisor;
};

#endif
