/* int8 matrix product with MVE for depths of more than 16. */
#ifndef DEEP_PRODUCT_H
#define DEEP_PRODUCT_H

#include "byte_product.h"
#include "deep_loop.h"

static inline void multiply_deep(const struct cm_gemm *gemm, product_loop *loop)
{
    cm_mve_multiply_parts(gemm, cm_mve_multiply, loop);
}

/* clang-format off */
#define FIRST "vmladav.s8"
#define MORE "vmladava.s8"
#define FIRST_COLUMN "vldrw.32 q2, [r1]\n"
#define NEXT_COLUMN "vldrw.32 q2, [r1, #64]!\n"
#define LAST_ROW NEXT_PAIR
#define LAST_COLUMN FIRST_COLUMN

/* With r1 behind the first chunk. */
#define LOAD_HEAD \
    "vldrw.32 q4, [r1, #-112]\n" \
    "vldrw.32 q5, [r1, #-96]\n" \
    "vldrw.32 q6, [r1, #-80]\n"

/* Products alternate with what other pipes execute, in the best order that was found for the model of the
   Cortex-M55. FIRST_COLUMN comes before them. */
#define HALF_UP \
    JOIN_EVEN_0 \
    JOIN_ODD_0 \
    LOAD_STEPS \
    JOIN_EVEN_1 \
    ADD_BIAS("q0") \
    JOIN_ODD_1 \
    "add r5, r0\n" \
    "add r7, r2\n" \
    SCALE("q0") \
    "vldrb.8 q7, [r5], #16\n" \
    SHIFT("q0") \
    "add r3, r0\n" \
    ADD_BIAS("q1") \
    SCALE("q1") \
    "vldrb.8 q3, [r3], #16\n" \
    SHIFT("q1") \
    "vmladav.s8 r8, q7, q2\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s8 r0, q3, q2\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vldrw.32 q2, [r1, #16]\n" \
    "vmladav.s8 r10, q7, q2\n" \
    "vqadd.s16 q0, q0, r11\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vmladav.s8 r2, q3, q2\n" \
    "vldrw.32 q2, [r1, #32]\n" \
    "vmladav.s8 r4, q3, q2\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    "vmladav.s8 r12, q7, q2\n" \
    "vldrw.32 q2, [r1, #48]\n" \
    "vmladav.s8 lr, q7, q2\n" \
    NEXT_ROW \
    "vmladav.s8 r6, q3, q2\n" \
    NEXT_COLUMN

/* LOAD_AWAY sets r4, and LOAD_ZERO_POINT the register ZERO_POINT, which may be r2. */
#define RIGHT_BY(LOAD_AWAY, LOAD_ZERO_POINT, ZERO_POINT) \
    JOIN_EVEN_0 \
    LOAD_AWAY \
    JOIN_ODD_0 \
    ADD_BIAS("q0") \
    JOIN_EVEN_1 \
    LOAD_STEPS \
    JOIN_ODD_1 \
    ADD_BIAS("q1") \
    SCALE("q0") \
    "add r5, r0\n" \
    SCALE("q1") \
    "add r3, r0\n" \
    "vldrb.8 q7, [r5], #16\n" \
    AWAY_FROM_ZERO("q1") \
    "vldrb.8 q3, [r3], #16\n" \
    AWAY_FROM_ZERO("q0") \
    "add r7, r2\n" \
    LOAD_ZERO_POINT \
    SHIFT("q0") \
    "vmladav.s8 r0, q3, q2\n" \
    SHIFT("q1") \
    "vmladav.s8 r8, q7, q2\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vldrw.32 q2, [r1, #16]\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladav.s8 r10, q7, q2\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vqadd.s16 q0, q0, " ZERO_POINT "\n" \
    "vmladav.s8 r2, q3, q2\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrw.32 q2, [r1, #32]\n" \
    "vmladav.s8 r12, q7, q2\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    "vmladav.s8 r4, q3, q2\n" \
    "vldrw.32 q2, [r1, #48]\n" \
    "vmladav.s8 lr, q7, q2\n" \
    NEXT_ROW \
    "vmladav.s8 r6, q3, q2\n" \
    NEXT_COLUMN

#define RIGHT RIGHT_BY(LOAD_ONE, "", "r11")
/* clang-format on */

#endif
