/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_EXTREME_S8_H
#define CMRT_ARGS_EXTREME_S8_H

#include "cmrt/program.h"

/* Extremes of the members of [outer, members, inner]. */
struct cm_extreme_s8 {
    cm_ref input;
    cm_ref output;
    int32_t outer;
    int32_t members;
    int32_t inner;
    int32_t flip;
};

#endif
