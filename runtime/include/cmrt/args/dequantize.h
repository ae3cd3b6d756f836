/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_DEQUANTIZE_H
#define CMRT_ARGS_DEQUANTIZE_H

#include "cmrt/program.h"

/* From other types to floats. */
struct cm_dequantize {
    cm_ref input;
    cm_ref output;
    int32_t count;
    int32_t zero_point;
    uint32_t scale;
    /* bytes of an element: 1 if unsigned, 2 if signed */
    int32_t size;
};

#endif
