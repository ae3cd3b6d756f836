/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_LSTM_CLIPPED_H
#define CMRT_ARGS_LSTM_CLIPPED_H

#include "cmrt/args/lstm.h"

#include <stdint.h>

/* A layer whose cells are clipped in both directions. */
struct cm_lstm_clipped {
    struct cm_lstm lstm;
    int32_t cell_limit;
};

#endif
