/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_GATE_PRODUCT_H
#define CMRT_ARGS_GATE_PRODUCT_H

#include "cmrt/program.h"

/* Constant weights of rows that are added to gates. */
struct cm_gate_product {
    cm_ref weights;
    int32_t depth;
    int32_t rounding;
};

#endif
