/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_GRU_S16_H
#define CMRT_ARGS_GRU_S16_H

#include "cmrt/args/narrowing.h"
#include "cmrt/args/short_recurrence.h"
#include "cmrt/program.h"

/* One layer and direction of int16 numbers. */
struct cm_gru_s16 {
    struct cm_short_recurrence layer;
    cm_ref table;
    cm_ref initial_state;
    cm_ref final_state;
    cm_ref state;
    int32_t state_bits;
    struct cm_narrowing narrowing;
};

#endif
