/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_CAST_H
#define CMRT_ARGS_CAST_H

#include "cmrt/program.h"

/* Elements of one type and of another. */
struct cm_cast {
    cm_ref input;
    cm_ref output;
    int32_t count;
    /* enum cm_element */
    int32_t source;
    int32_t to;
};

#endif
