/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_NORMALIZATION_F32_H
#define CMRT_ARGS_NORMALIZATION_F32_H

#include "cmrt/program.h"

/* Groups of floats; their parameters repeat after a cycle. */
struct cm_normalization_f32 {
    cm_ref input;
    cm_ref weight;
    cm_ref bias;
    cm_ref output;
    int32_t groups;
    int32_t cycle;
    int32_t channels;
    int32_t run;
    uint32_t eps;
    /* enum result */
    int32_t result;
};

#endif
