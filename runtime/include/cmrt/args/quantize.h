/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZE_H
#define CMRT_ARGS_QUANTIZE_H

#include "cmrt/program.h"

/* From floats to other types. */
struct cm_quantize {
    cm_ref input;
    cm_ref output;
    int32_t count;
    uint32_t inverse_scale;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
    /* bytes of an element: 1 or 2 */
    int32_t size;
};

#endif
