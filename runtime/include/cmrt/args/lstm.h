/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_LSTM_H
#define CMRT_ARGS_LSTM_H

#include "cmrt/args/narrowing.h"
#include "cmrt/args/projection.h"
#include "cmrt/args/recurrence.h"
#include "cmrt/program.h"

/* One layer and direction, with a projection of its outputs if there is one. */
struct cm_lstm {
    struct cm_recurrence layer;
    cm_ref table;
    cm_ref initial_hidden;
    cm_ref initial_cell;
    cm_ref final_cell;
    cm_ref cell;
    int32_t cell_bits;
    struct cm_narrowing narrowing;
    struct cm_projection projection;
    /* of initial outputs */
    struct cm_narrowing initial;
};

#endif
