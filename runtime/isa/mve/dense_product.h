/* int8 matrix product with MVE for depths of up to 32 whose rows are 8, 16 or 32 bytes apart: as in
   shallow_product.h, but loads advance the pointer to the rows, and the register that this saves points to
   the pair of columns. */
#ifndef DENSE_PRODUCT_H
#define DENSE_PRODUCT_H

#include "shallow_product.h"

/* clang-format off */
#define DENSE_TILE_16(STEP) \
    "vmov q0[3], q0[1], r0, r4\n" \
    "vldrb.8 q2, [r3], #" STEP "\n" \
    "vmov q1[3], q1[1], r2, r6\n" \
    "ldrd r4, r6, [r1]\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vadd.i32 q0, q0, r4\n" \
    "vqrdmulh.s32 q0, q0, r7\n" \
    "vadd.i32 q1, q1, r6\n" \
    "vqrdmulh.s32 q1, q1, r9\n" \
    "vrshl.s32 q1, r8\n" \
    "vldrb.8 q3, [r3], #" STEP "\n" \
    "vmladav.s8 r4, q3, q4\n" \
    "vrshl.s32 q0, r11\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vqmovnb.s32 q7, q0\n" \
    "vmladav.s8 r6, q3, q5\n" \
    "vqmovnt.s32 q7, q1\n" \
    "vmov q1[2], q1[0], r2, r6\n" \
    "vldrb.8 q2, [r3], #" STEP "\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vqadd.s16 q7, q7, r10\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vqmovnb.s16 q7, q7\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vldrb.8 q3, [r3], #" STEP "\n" \
    "vmladav.s8 r4, q3, q4\n" \
    "vstrb.16 q7, [r5, q6]\n" \
    "vmladav.s8 r6, q3, q5\n" \
    "add r5, r12\n"

/* Rows of 16 bytes, for rounding away from zero. */
#define DENSE_TILE_16_RIGHT \
    "vmov q1[3], q1[1], r2, r6\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmov q0[3], q0[1], r0, r4\n" \
    "ldrd r4, r6, [r1]\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vldrb.8 q3, [r3], #16\n" \
    "vadd.i32 q0, q0, r4\n" \
    "vqrdmulh.s32 q0, q0, r7\n" \
    LOAD_ONE \
    AWAY_FROM_ZERO("q0") \
    "vadd.i32 q1, q1, r6\n" \
    "vqrdmulh.s32 q1, q1, r9\n" \
    "vrshl.s32 q0, r11\n" \
    AWAY_FROM_ZERO("q1") \
    "vrshl.s32 q1, r8\n" \
    "vmladav.s8 r6, q3, q5\n" \
    "vqmovnb.s32 q7, q0\n" \
    "vmladav.s8 r4, q3, q4\n" \
    "vqmovnt.s32 q7, q1\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vldrb.8 q3, [r3], #16\n" \
    "vmov q1[2], q1[0], r2, r6\n" \
    "vqadd.s16 q7, q7, r10\n" \
    "vmladav.s8 r4, q3, q4\n" \
    "vqmovnb.s16 q7, q7\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vstrb.16 q7, [r5, q6]\n" \
    "vmladav.s8 r6, q3, q5\n" \
    "add r5, r12\n"

#define DENSE_TILE_32 \
    "vldrb.8 q2, [r3], #16\n" \
    "vmov q0[3], q0[1], r0, r4\n" \
    "vldrb.8 q3, [r3], #16\n" \
    "vmov q1[3], q1[1], r2, r6\n" \
    "ldrd r4, r6, [r1]\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vadd.i32 q1, q1, r6\n" \
    "vqrdmulh.s32 q1, q1, r9\n" \
    "vrshl.s32 q1, r8\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vadd.i32 q0, q0, r4\n" \
    "vmladava.s8 r0, q3, q6\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vqrdmulh.s32 q0, q0, r7\n" \
    "vrshl.s32 q0, r11\n" \
    "vmladav.s8 r6, q2, q5\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladava.s8 r2, q3, q7\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladav.s8 r4, q2, q4\n" \
    "vldrb.8 q3, [r3], #16\n" \
    "vqadd.s16 q0, q0, r10\n" \
    "vmladava.s8 r6, q3, q7\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmladava.s8 r4, q3, q6\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vmov q1[2], q1[0], r2, r6\n" \
    "vldrh.u16 q3, [sp, #16]\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vstrb.16 q0, [r5, q3]\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "add r5, r12\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vldrb.8 q3, [r3], #16\n" \
    "vmladava.s8 r2, q3, q7\n" \
    "vmladava.s8 r0, q3, q6\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmladav.s8 r6, q2, q5\n" \
    "vmladav.s8 r4, q2, q4\n" \
    "vldrb.8 q3, [r3], #16\n" \
    "vmladava.s8 r6, q3, q7\n" \
    "vmladava.s8 r4, q3, q6\n"

#define LOAD_DENSE_16(HEAD) \
    "vldrw.32 q4, [r1, #24 + " HEAD "]\n" \
    "vldrw.32 q5, [r1, #40 + " HEAD "]\n"

#define LOAD_DENSE_32(HEAD) \
    LOAD_DENSE_16(HEAD) \
    "vldrw.32 q6, [r1, #56 + " HEAD "]\n" \
    "vldrw.32 q7, [r1, #72 + " HEAD "]\n"

/* Turns as in SHALLOW_LOOP. r1 is the head of the pair that is finished, or of the first one before it begins.
   Flags after a turn: higher is one within a pair, equal the last one, minus one that begins another pair. */
#define DENSE_LOOP(name, TILE, PAIR_BYTES, LOAD_WEIGHTS, LOAD_OFFSETS) \
    shallow_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "ldr r1, [sp, #32]\n" \
          LOAD_OFFSETS \
          LOAD_WEIGHTS("0") \
          "ldr r3, [sp]\n" \
          "movs r0, #1\n" \
          "adds r0, #1\n" \
          "b 2f\n" \
          "1:\n" \
          "ldr lr, [sp, #60]\n" \
          "ldr r3, [sp]\n" \
          "cmp r1, lr\n" \
          "beq 2f\n" \
          LOAD_WEIGHTS(PAIR_BYTES) \
          "2:\n" \
          "mov lr, #1\n" \
          "3:\n" \
          TILE \
          "le lr, 3b\n" \
          "bhi 1b\n" \
          "beq 4f\n" \
          \
          "it mi\n" \
          "addmi r1, #" PAIR_BYTES "\n" \
          "ldr r5, [sp, #40]\n" \
          "ldrd r7, r9, [r1, #8]\n" \
          "ldrd r11, r8, [r1, #16]\n" \
          "add lr, r5, #2\n" \
          "str lr, [sp, #40]\n" \
          "ldr lr, [sp, #4]\n" \
          "cmp lr, #0\n" \
          "bne 3b\n" \
          "b 1b\n" \
          \
          "4:\n" \
          "add sp, #64\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

#define OFFSETS_IN_Q6 "vldrh.16 q6, [sp, #16]\n"

DENSE_LOOP(cm_mve_multiply_8_dense, DENSE_TILE_16("8"), "56", LOAD_DENSE_16, OFFSETS_IN_Q6);
DENSE_LOOP(cm_mve_multiply_16_dense, DENSE_TILE_16("16"), "56", LOAD_DENSE_16, OFFSETS_IN_Q6);
DENSE_LOOP(cm_mve_multiply_16_dense_right, DENSE_TILE_16_RIGHT, "56", LOAD_DENSE_16, OFFSETS_IN_Q6);
DENSE_LOOP(cm_mve_multiply_32_dense, DENSE_TILE_32, "88", LOAD_DENSE_32, "");
/* clang-format on */

#endif
