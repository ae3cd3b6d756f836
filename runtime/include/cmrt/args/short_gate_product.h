/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_GATE_PRODUCT_H
#define CMRT_ARGS_SHORT_GATE_PRODUCT_H

#include "cmrt/program.h"

/* Constant weights, as products of matrices read them. */
struct cm_short_gate_product {
    cm_ref weights;
    /* bytes of a row */
    int32_t depth;
};

#endif
