/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_WHERE_H
#define CMRT_ARGS_WHERE_H

#include "cmrt/program.h"

/* Elements of two operands, and the condition that chooses between them. */
struct cm_where {
    cm_ref condition;
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    /* of an element: 1, 2, 4 or 8 bytes */
    int32_t size;
    /* of the innermost loop, in bytes */
    int32_t condition_step;
    int32_t lhs_step;
    int32_t rhs_step;
};

#endif
