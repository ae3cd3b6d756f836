/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_SORT_H
#define CMRT_ARGS_SORT_H

#include "cmrt/program.h"

/* Rows, and the first elements of each in order, with their places in it. */
struct cm_sort {
    cm_ref input;
    cm_ref values;
    cm_ref places;
    cm_ref scratch;
    cm_ref levels;
    int32_t depth;
    int32_t length;
    int32_t count;
    /* in elements */
    int32_t input_step;
    int32_t values_step;
    int32_t places_step;
    /* of the input, enum cm_element */
    int32_t type;
    int32_t descending;
};

#endif
