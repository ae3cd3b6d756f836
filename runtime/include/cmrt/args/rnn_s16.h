/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_RNN_S16_H
#define CMRT_ARGS_RNN_S16_H

#include "cmrt/args/narrowing.h"
#include "cmrt/args/short_recurrence.h"
#include "cmrt/program.h"

/* One layer and direction of int16 numbers. */
struct cm_rnn_s16 {
    struct cm_short_recurrence layer;
    /* CM_REF_NONE for ReLU */
    cm_ref table;
    cm_ref initial_hidden;
    struct cm_narrowing narrowing;
    /* of initial outputs */
    struct cm_narrowing initial;
};

#endif
