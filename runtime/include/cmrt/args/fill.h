/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_FILL_H
#define CMRT_ARGS_FILL_H

#include "cmrt/program.h"

/* A tensor of which each element gets the same value. */
struct cm_fill {
    cm_ref output;
    uint32_t bytes;
    /* eight bytes of the value, repeated */
    uint32_t low;
    uint32_t high;
};

#endif
