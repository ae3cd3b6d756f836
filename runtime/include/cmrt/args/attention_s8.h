/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_ATTENTION_S8_H
#define CMRT_ARGS_ATTENTION_S8_H

#include "cmrt/program.h"

/* Matrices of queries, keys and values, and the scratch to weigh them. */
struct cm_attention_s8 {
    cm_ref query;
    cm_ref key;
    cm_ref value;
    cm_ref mask;
    cm_ref output;
    cm_ref weights;
    cm_ref key_sums;
    cm_ref scores;
    cm_ref value_sums;
    cm_ref values;
    cm_ref workspace;
    int32_t batch;
    int32_t group;
    int32_t rows;
    int32_t keys;
    int32_t depth;
    int32_t width;
    int32_t is_causal;
    int32_t empty_rows;
    int32_t is_bool;
    int32_t mask_matrix_stride;
    int32_t mask_row_stride;
    int32_t query_zero_point;
    int32_t value_zero_point;
    int32_t score_multiplier;
    int32_t score_shift;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
};

#endif
