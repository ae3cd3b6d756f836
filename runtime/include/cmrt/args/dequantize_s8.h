/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_DEQUANTIZE_S8_H
#define CMRT_ARGS_DEQUANTIZE_S8_H

#include "cmrt/program.h"

/* From int8 to floats. */
struct cm_dequantize_s8 {
    cm_ref input;
    cm_ref output;
    int32_t count;
    int32_t zero_point;
    uint32_t scale;
};

#endif
