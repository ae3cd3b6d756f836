/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_INTERPOLATION_H
#define CMRT_ARGS_INTERPOLATION_H

#include "cmrt/program.h"

/* int16 elements, and entries of magnitudes: of positive numbers, then of negative ones. */
struct cm_interpolation {
    cm_ref input;
    cm_ref output;
    cm_ref table;
    int32_t count;
    int32_t entries;
};

#endif
