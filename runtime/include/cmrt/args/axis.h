/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_AXIS_H
#define CMRT_ARGS_AXIS_H

#include "cmrt/program.h"

/* How outputs along an axis meet inputs and taps; steps from one to the next. */
struct cm_axis {
    cm_ref segments;
    int32_t segment_count;
    /* from one output of a segment to the next */
    int32_t output_step;
    int32_t input_step;
    /* from one tap that meets an input to the next */
    int32_t tap_input;
    int32_t tap_weight;
};

#endif
