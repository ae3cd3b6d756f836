/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_CURVE_H
#define CMRT_ARGS_SHORT_CURVE_H

#include "cmrt/program.h"

/* int16 elements and the table of half a sigmoid. */
struct cm_short_curve {
    cm_ref input;
    cm_ref output;
    cm_ref table;
    int32_t count;
    /* makes steps of a 24th of 512ths */
    int32_t multiplier;
    /* to the right, of the product */
    int32_t shift;
    int32_t is_tanh;
};

#endif
