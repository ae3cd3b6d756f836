/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_RECURRENCE_H
#define CMRT_ARGS_RECURRENCE_H

#include "cmrt/args/gate_product.h"
#include "cmrt/program.h"

/* The loop over time. Steps are in bytes and negative if time runs backwards: the first row of input and
   output is that of the step computed first. */
struct cm_recurrence {
    cm_ref input;
    cm_ref output;
    cm_ref gates;
    cm_ref workspace;
    /* zero points; CM_REF_NONE if initial outputs precede the first output */
    cm_ref blank;
    struct cm_gate_product input_product;
    struct cm_gate_product hidden_product;
    int32_t units;
    int32_t steps;
    int32_t batch;
    int32_t input_step;
    int32_t input_batch;
    int32_t output_step;
    int32_t output_batch;
    int32_t zero_point;
};

#endif
