/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_CHANGE_SCALE_H
#define CMRT_ARGS_CHANGE_SCALE_H

#include "cmrt/program.h"

/* Quantised elements with another scale or type. */
struct cm_change_scale {
    cm_ref input;
    cm_ref output;
    int32_t count;
    /* the multiplier without its lowest 16 bits */
    int32_t upper;
    /* these bits */
    int32_t lower;
    /* the constant without its lowest 16 bits */
    int32_t upper_constant;
    /* these bits */
    int32_t lower_constant;
    /* of the sum without its lowest 16 bits */
    int32_t shift;
    int32_t after;
    int32_t minimum;
    int32_t maximum;
    /* bytes of an element; 0 for unsigned ones of one byte */
    int32_t source;
    int32_t to;
};

#endif
