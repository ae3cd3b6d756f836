/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_PROJECTION_H
#define CMRT_ARGS_PROJECTION_H

#include "cmrt/program.h"

/* Outputs from the units' int8 results; `weights` is CM_REF_NONE if these are the outputs. */
struct cm_projection {
    cm_ref weights;
    cm_ref units;
    int32_t outputs;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
    int32_t rounding;
};

#endif
