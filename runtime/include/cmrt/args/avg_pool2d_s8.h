/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AVG_POOL2D_S8_H
#define CMRT_ARGS_AVG_POOL2D_S8_H

#include "cmrt/args/pool.h"

#include <stdint.h>

/* Means over windows. */
struct cm_avg_pool2d_s8 {
    struct cm_pool pool;
};

#endif
