/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_MAX_POOL2D_S8_H
#define CMRT_ARGS_MAX_POOL2D_S8_H

#include "cmrt/args/pool.h"

#include <stdint.h>

/* Maxima over windows. */
struct cm_max_pool2d_s8 {
    struct cm_pool pool;
    int32_t minimum;
    int32_t maximum;
};

#endif
