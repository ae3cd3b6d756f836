/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_BYTE_FUNCTION_H
#define CMRT_ARGS_BYTE_FUNCTION_H

#include <stdint.h>

/* A function of two bytes. The numbers but for the kind are masks: 0, or -1. */
struct cm_byte_function {
    /* enum cm_byte_kind */
    int32_t kind;
    /* CM_COMPARED: 0 for signed bytes */
    int32_t is_unsigned;
    /* CM_COMPARED: the results of lhs against rhs */
    int32_t when_less;
    int32_t when_equal;
    int32_t when_more;
    /* CM_TRUE: the result if both are not 0; CM_BITS: of bits set in both */
    int32_t of_both;
    int32_t of_one;
};

#endif
