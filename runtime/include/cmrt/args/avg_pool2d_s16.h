/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AVG_POOL2D_S16_H
#define CMRT_ARGS_AVG_POOL2D_S16_H

#include "cmrt/args/pool.h"

#include <stdint.h>

/* Means over windows of int16, clamped; channels are bytes. */
struct cm_avg_pool2d_s16 {
    struct cm_pool pool;
    int32_t minimum;
    int32_t maximum;
};

#endif
