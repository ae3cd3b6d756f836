/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZE_S8_H
#define CMRT_ARGS_QUANTIZE_S8_H

#include "cmrt/program.h"

/* From floats to int8. */
struct cm_quantize_s8 {
    cm_ref input;
    cm_ref output;
    int32_t count;
    uint32_t inverse_scale;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
};

#endif
