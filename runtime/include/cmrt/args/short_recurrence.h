/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SHORT_RECURRENCE_H
#define CMRT_ARGS_SHORT_RECURRENCE_H

#include "cmrt/args/short_gate_product.h"
#include "cmrt/program.h"

/* The loop over time. Steps are in bytes and negative if time runs backwards: the first row of input and
   output is that of the step computed first. */
struct cm_short_recurrence {
    cm_ref input;
    cm_ref output;
    cm_ref gates;
    /* of the preceding outputs */
    cm_ref products;
    cm_ref workspace;
    /* zeros; CM_REF_NONE if initial outputs precede the first output */
    cm_ref blank;
    struct cm_short_gate_product input_product;
    struct cm_short_gate_product hidden_product;
    /* of the lower bits; CM_REF_NONE without any */
    struct cm_short_gate_product low_input_product;
    struct cm_short_gate_product low_hidden_product;
    int32_t units;
    int32_t steps;
    int32_t batch;
    int32_t input_step;
    int32_t input_batch;
    int32_t output_step;
    int32_t output_batch;
};

#endif
