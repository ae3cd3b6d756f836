/* int8 matrix product with MVE for depths of more than 16. */
#ifndef DEEP_PRODUCT_H
#define DEEP_PRODUCT_H

#include "byte_product.h"
#include "deep_loop.h"

/* clang-format off */
#define FIRST "vmladav.s8"
#define MORE "vmladava.s8"
#define FIRST_COLUMN "vldrw.32 q2, [r1]\n"
#define NEXT_COLUMN "vldrw.32 q2, [r1, #64]!\n"

/* With r1 behind the first chunk. */
#define LOAD_HEAD \
    "vldrw.32 q4, [r1, #-112]\n" \
    "vldrw.32 q5, [r1, #-96]\n" \
    "vldrw.32 q6, [r1, #-80]\n"

/* Products alternate with what other pipes execute. */
#define FINISH_AND_START(LOAD_ONE, ROUND) \
    JOIN_EVEN_0 \
    "vldrw.32 q3, [r1]\n" \
    JOIN_ODD_0 \
    LOAD_STEPS \
    JOIN_EVEN_1 \
    ADD_BIAS("q0") \
    "add r7, r2\n" \
    LOAD_ONE \
    SCALE("q0") ROUND("q0") \
    "add r3, r0\n" \
    "add r5, r0\n" \
    SHIFT("q0") \
    JOIN_ODD_1 \
    ADD_BIAS("q1") SCALE("q1") ROUND("q1") \
    "vldrb.8 q2, [r3], #16\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s8 r0, q2, q3\n" \
    "vldrb.8 q7, [r5], #16\n" \
    SHIFT("q1") \
    "vmladav.s8 r8, q7, q3\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    "vmladav.s8 r2, q2, q3\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladav.s8 r10, q7, q3\n" \
    "vldrw.32 q3, [r1, #32]\n" \
    "vqadd.s16 q0, q0, r11\n" \
    "vmladav.s8 r12, q7, q3\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s8 r4, q2, q3\n" \
    "vldrw.32 q3, [r1, #48]\n" \
    "vmladav.s8 r6, q2, q3\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    "vmladav.s8 lr, q7, q3\n" \
    NEXT_COLUMN \
    NEXT_ROW

#define HALF_UP FINISH_AND_START("", AS_IT_IS)
#define RIGHT FINISH_AND_START(LOAD_ONE, AWAY_FROM_ZERO)
/* clang-format on */

#endif
