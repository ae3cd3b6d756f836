/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_NORM_S8_H
#define CMRT_ARGS_NORM_S8_H

#include "cmrt/program.h"

/* Groups of int8 channels, each with its parameters. */
struct cm_norm_s8 {
    cm_ref input;
    cm_ref output;
    cm_ref multipliers;
    cm_ref biases;
    int32_t images;
    int32_t groups;
    int32_t pixels;
    int32_t channels;
    uint32_t epsilon_low;
    uint32_t epsilon_high;
    int32_t is_centred;
    int32_t centre;
    int32_t shift;
    int32_t zero_point;
};

#endif
