/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_PRELU_RESCALED_H
#define CMRT_ARGS_PRELU_RESCALED_H

#include "cmrt/program.h"

/* Factors that are rescaled as CMSIS-NN does, for int8 and int16 elements. */
struct cm_prelu_rescaled {
    cm_ref input;
    cm_ref output;
    cm_ref below;
    int32_t rows;
    int32_t channels;
    int32_t input_zero_point;
    int32_t zero_point;
    int32_t above_multiplier;
    int32_t above_shift;
    int32_t below_multiplier;
    int32_t below_shift;
};

#endif
