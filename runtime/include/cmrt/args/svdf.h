/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SVDF_H
#define CMRT_ARGS_SVDF_H

#include "cmrt/args/gate_product.h"
#include "cmrt/args/narrowing.h"
#include "cmrt/program.h"

/* A row of features, and the filter over those of the last runs. */
struct cm_svdf {
    cm_ref input;
    cm_ref state;
    cm_ref final;
    cm_ref output;
    cm_ref features;
    cm_ref workspace;
    struct cm_gate_product product;
    cm_ref time_weights;
    cm_ref bias;
    int32_t outputs;
    int32_t rank;
    int32_t time;
    int32_t rectify;
    int32_t time_first;
    struct cm_narrowing narrowing;
};

#endif
