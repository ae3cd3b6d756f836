/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_LENGTH_H
#define CMRT_ARGS_SHORT_LENGTH_H

#include "cmrt/program.h"

/* Two int16 tensors of one shape. */
struct cm_short_length {
    cm_ref x;
    cm_ref y;
    cm_ref output;
    int32_t count;
    /* of its square */
    int32_t x_factor;
    int32_t y_factor;
    int32_t multiplier;
    int32_t shift;
};

#endif
