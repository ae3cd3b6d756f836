/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_UNARY_H
#define CMRT_ARGS_UNARY_H

#include "cmrt/program.h"

/* Floats and a function of them. */
struct cm_unary {
    cm_ref input;
    cm_ref output;
    int32_t count;
    /* of the kernel's enum */
    int32_t function;
    /* float parameters */
    uint32_t first;
    uint32_t second;
};

#endif
