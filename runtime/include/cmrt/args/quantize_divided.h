/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_QUANTIZE_DIVIDED_H
#define CMRT_ARGS_QUANTIZE_DIVIDED_H

#include "cmrt/program.h"

/* From floats to other types, by a scale that they are divided by. */
struct cm_quantize_divided {
    cm_ref input;
    cm_ref output;
    int32_t count;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
    uint32_t scale;
    /* bytes of an element: 1 or 2 */
    int32_t size;
};

#endif
