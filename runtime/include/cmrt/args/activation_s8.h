/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_ACTIVATION_S8_H
#define CMRT_ARGS_ACTIVATION_S8_H

#include "cmrt/program.h"

/* Elements and the table of their results. */
struct cm_activation_s8 {
    cm_ref input;
    cm_ref table;
    cm_ref output;
    int32_t count;
};

#endif
