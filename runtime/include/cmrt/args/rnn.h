/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_RNN_H
#define CMRT_ARGS_RNN_H

#include "cmrt/args/narrowing.h"
#include "cmrt/args/recurrence.h"
#include "cmrt/program.h"

/* One layer and direction. */
struct cm_rnn {
    struct cm_recurrence layer;
    /* CM_REF_NONE for ReLU */
    cm_ref table;
    cm_ref initial_hidden;
    struct cm_narrowing narrowing;
    /* of initial outputs */
    struct cm_narrowing initial;
};

#endif
