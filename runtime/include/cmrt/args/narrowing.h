/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */
#ifndef CMRT_ARGS_NARROWING_H
#define CMRT_ARGS_NARROWING_H

#include <stdint.h>

/* From a wide number to int8: clamp(x · multiplier · 2^(shift - 31) + zero_point). */
struct cm_narrowing {
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
};

#endif
