/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AVG_POOL_F32_H
#define CMRT_ARGS_AVG_POOL_F32_H

#include "cmrt/args/images.h"

#include <stdint.h>

/* Images of floats, which are averaged. */
struct cm_avg_pool_f32 {
    struct cm_images images;
    /* 0: the number of inputs covered */
    int32_t divisor;
};

#endif
