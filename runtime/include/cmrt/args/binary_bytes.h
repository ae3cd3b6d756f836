/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_BINARY_BYTES_H
#define CMRT_ARGS_BINARY_BYTES_H

#include "cmrt/args/byte_function.h"
#include "cmrt/program.h"

/* Two operands of bytes. */
struct cm_binary_bytes {
    cm_ref lhs;
    cm_ref rhs;
    cm_ref output;
    cm_ref levels;
    int32_t depth;
    int32_t count;
    int32_t lhs_step;
    int32_t rhs_step;
    struct cm_byte_function function;
};

#endif
