/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_CONVOLUTION_F32_H
#define CMRT_ARGS_CONVOLUTION_F32_H

#include "cmrt/args/axis.h"
#include "cmrt/program.h"

/* Float images, weights and results of any memory order. */
struct cm_convolution_f32 {
    cm_ref input;
    cm_ref weights;
    cm_ref bias;
    cm_ref output;
    /* scratch for those of a block of channels */
    cm_ref taps;
    int32_t block;
    int32_t blocks;
    int32_t batch;
    int32_t groups;
    /* of one group */
    int32_t output_channels;
    /* from the inputs of one output channel to those of the next */
    int32_t channel_input;
    int32_t input_batch;
    int32_t input_group;
    int32_t input_channel;
    int32_t output_batch;
    int32_t output_group;
    int32_t output_channel;
    int32_t weight_group;
    int32_t weight_output;
    int32_t weight_channel;
    struct cm_axis depth;
    struct cm_axis height;
    struct cm_axis width;
};

#endif
