/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_BINARY_H
#define CMRT_ARGS_BINARY_H

#include "cmrt/program.h"

/* Two operands of any element types. */
struct cm_binary {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* of the innermost loop, in elements */
    int32_t lhs_step;
    int32_t rhs_step;
    /* enum cm_element */
    int32_t lhs_type;
    int32_t rhs_type;
    int32_t output_type;
    /* enum function */
    int32_t function;
};

#endif
