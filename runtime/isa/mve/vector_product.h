/* One int8 row times a matrix with MVE: what the loops for both types of weights share. */
#ifndef VECTOR_PRODUCT_H
#define VECTOR_PRODUCT_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"
#include "row_product.h"

#include <stddef.h>

/* Operands of the assembly, which copies the first 16 bytes to its stack frame. */
struct vector {
    int32_t zero_point; /* r0 */
    int32_t one;        /* r4 */
    struct loop loop;   /* turns: r9 */
    const int8_t *weights;
    const int8_t *lhs;
    int8_t *out;
    int32_t columns;
    int16_t minimum[8], maximum[8];
};
_Static_assert(offsetof(struct vector, weights) == 16 && offsetof(struct vector, minimum) == 32,
               "used in assembly");

/* clang-format off */
/* The sums in q0 and q1, of any scale, as outputs in 16 bits in q0; r1 moves on to the next weights. */
#define RESCALE_GENERAL \
    "ldm sp, {r0, r4, r9}\n" \
    "vldrw.32 q2, [r1], #16\n" \
    "vadd.i32 q0, q0, q2\n" \
    RESCALE("q0") \
    "vldrw.32 q2, [r1], #16\n" \
    "vadd.i32 q1, q1, q2\n" \
    RESCALE("q1") \
    "add r1, #64\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vqadd.s16 q0, q0, r0\n" \
    "vmax.s16 q0, q0, q5\n" \
    "vmin.s16 q0, q0, q6\n"

/* The same for scales that divide: q0 has its biases already, which q2 has for q1; q3 has multipliers, and
   r4 one. Zero points are not added. */
#define RESCALE_BY_SHIFTS \
    "vqrdmulh.s32 q0, q0, q3\n" \
    "vadd.i32 q1, q1, q2\n" \
    "vldrw.32 q3, [r1, #-48]\n" \
    "vqdmlah.s32 q0, q0, r4\n" \
    "vldrw.32 q2, [r1, #-32]\n" \
    "vqrdmulh.s32 q1, q1, q3\n" \
    "vrshl.s32 q0, q0, q2\n" \
    "vldrw.32 q3, [r1, #-16]\n" \
    "vqdmlah.s32 q1, q1, r4\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vrshl.s32 q1, q1, q3\n" \
    "vqmovnt.s32 q0, q1\n"

#define VECTOR_FUNCTION(name, MULTIPLY, FINISH) \
    void name(const struct vector *vector); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d13}\n" \
          "sub sp, #16\n" \
          "vldrw.32 q0, [r0]\n" \
          "vstrw.32 q0, [sp]\n" \
          "ldr r2, [r0, #12]\n" \
          "adr.w r1, 2f\n" \
          "add r2, r1\n" \
          "add r2, #1\n" /* Thumb */ \
          "str r2, [sp, #12]\n" \
          "vmov.i32 q4, #0\n" \
          "vldrw.32 q5, [r0, #32]\n" \
          "vldrw.32 q6, [r0, #48]\n" \
          "ldrd r1, r5, [r0, #16]\n" \
          "ldrd r7, r11, [r0, #24]\n" \
          "ldr r9, [r0, #8]\n" \
          \
          "1:\n" \
          "mov r3, r5\n" \
          MULTIPLY("vmladav.s8", "") \
          "ldr pc, [sp, #12]\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY("vmladava.s8", "") \
          MULTIPLY("vmladava.s8", "") \
          MULTIPLY("vmladava.s8", "") \
          MULTIPLY("vmladava.s8", "subs.w r9, r9, #1\n") \
          "bne.w 2b\n" \
          \
          FINISH \
          "vctp.16 r11\n" \
          "subs r11, #8\n" \
          "vqmovnb.s16 q0, q0\n" \
          "vpst\n" \
          "vstrbt.16 q0, [r7], #8\n" \
          "bgt.w 1b\n" \
          "add sp, #16\n" \
          "vpop {d8-d13}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)
/* clang-format on */

typedef void vector_function(const struct vector *vector);

static inline void multiply(const struct cm_gemm *gemm, vector_function *run)
{
    struct vector vector = {
        .zero_point = gemm->output.zero_point,
        .one = 1,
        .loop = loop_over(gemm->depth),
        .weights = gemm->weights,
        .lhs = gemm->lhs,
        .out = gemm->out,
        .columns = gemm->columns,
    };
    for (int32_t i = 0; i < 8; ++i) {
        vector.minimum[i] = (int16_t)gemm->output.minimum;
        vector.maximum[i] = (int16_t)gemm->output.maximum;
    }
    if (gemm->rows == 1 && gemm->columns > 0)
        run(&vector);
}

#endif
