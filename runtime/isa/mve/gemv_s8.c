/* One int8 row times a matrix with MVE: eight columns at a time. */
#include "vector_product.h"

/* clang-format off */
/* The sums in q0 and q1 as outputs in 16 bits in q0; r1 moves on to the next weights. */
#define FINISH_RIGHT \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vldrw.32 q2, [r1], #96\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vldrw.32 q3, [r1, #-64]\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vadd.i32 q0, q0, q2\n" \
    "vldrw.32 q2, [r1, #-80]\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "ldrd r0, r4, [sp]\n" \
    RESCALE_BY_SHIFTS

#define FINISH_GENERAL \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    RESCALE_GENERAL

VECTOR_FUNCTION(cm_mve_multiply_vector_right, MULTIPLY, FINISH_RIGHT);
VECTOR_FUNCTION(cm_mve_multiply_vector_general, MULTIPLY, FINISH_GENERAL);
/* clang-format on */

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_vector_right);
}

void cm_isa_gemv_s8_general(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_vector_general);
}
