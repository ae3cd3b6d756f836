/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_LSTM_S16_CLIPPED_H
#define CMRT_ARGS_LSTM_S16_CLIPPED_H

#include "cmrt/args/lstm_s16.h"

#include <stdint.h>

/* A layer of int16 numbers whose cells are clipped in both directions. */
struct cm_lstm_s16_clipped {
    struct cm_lstm_s16 lstm;
    int32_t cell_limit;
};

#endif
