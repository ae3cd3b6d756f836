/* One int8 row times a matrix of weights of four bits with MVE: eight columns at a time.

   A byte is 16 * odd + even of two columns, of weights from -7 to 7; others are unpacked. */
#include "cmrt/nibbles.h"
#include "unpack.h"
#include "vector_product.h"

/* clang-format off */
/* 16 depths: q0 of the row, the others of pairs of columns. 17 instructions of four bytes, in the best order that was
   found for the model of the Cortex-M55: 18 cycles. */
#define MULTIPLY_NARROW(mac, SPARE) \
    "vldrw.32 q1, [r1], #64\n" \
    SPARE \
    "vrshr.s8 q2, q1, #4\n" \
    "vldrb.8 q0, [r3], #16\n" \
    mac " r0, q0, q1\n" \
    "vldrw.32 q3, [r1, #-48]\n" \
    mac " r8, q0, q2\n" \
    "vrshr.s8 q2, q3, #4\n" \
    mac " r2, q0, q3\n" \
    "vldrw.32 q1, [r1, #-32]\n" \
    mac " r10, q0, q2\n" \
    "vrshr.s8 q2, q1, #4\n" \
    mac " r4, q0, q1\n" \
    "vldrw.32 q3, [r1, #-16]\n" \
    mac " r12, q0, q2\n" \
    "vrshr.s8 q2, q3, #4\n" \
    mac " r6, q0, q3\n" \
    mac " lr, q0, q2\n"

/* Sums of even columns also hold 16 times those of odd ones. */
#define PART_COLUMNS \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vshl.i32 q3, q1, #4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vldrw.32 q2, [r1], #16\n" \
    "vsub.i32 q0, q0, q3\n"

/* The sums in q0 and q1 as outputs in 16 bits in q0; r1 moves on to the next weights. */
#define FINISH_RIGHT \
    PART_COLUMNS \
    "vadd.i32 q0, q0, q2\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    "vldrw.32 q2, [r1], #80\n" \
    "ldrd r0, r4, [sp]\n" \
    RESCALE_BY_SHIFTS \
    "ldr r9, [sp, #8]\n" \
    "vqadd.s16 q0, q0, r0\n"

VECTOR_FUNCTION(cm_mve_multiply_vector_narrow, MULTIPLY_NARROW, FINISH_RIGHT);
/* clang-format on */

void cm_isa_gemv_s8_w4(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm)) {
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemv_s8);
        return;
    }
    struct cm_gemm packed = *gemm;
    packed.weights = (const struct cm_nibbles *)gemm->weights + 1;
    multiply(&packed, cm_mve_multiply_vector_narrow);
}

void cm_isa_gemv_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemv_s8_general);
}
