/* int8 matrix product with MVE for any depth, rescaling and range: its loop and its rescaling follow each
   other. Few layers need it. */
#ifndef GENERAL_PRODUCT_H
#define GENERAL_PRODUCT_H

#include "byte_product.h"

/* clang-format off */
/* Zeros among the right shifts in q6 must not affect the rounding. */
#define RESCALE_GENERAL(sums) \
    ADD_BIAS(sums) \
    "vldrw.32 q2, [sp, #128]\n" \
    "vshl.s32 " sums ", " sums ", q2\n" \
    SCALE(sums) \
    "vand q2, " sums ", q6\n" \
    "vqdmlah.s32 " sums ", q2, r4\n" \
    SHIFT(sums)

/* Minima are at [sp, #96], maxima behind them, then left shifts. */
product_loop cm_mve_multiply_general;
__asm(CM_ASM_FUNCTION(cm_mve_multiply_general)
      "ldr r0, [sp, #48]\n" /* turns are all chunks, after a head of 48 bytes */
      "subs r0, #48\n"
      "lsrs r0, r0, #6\n"
      "str r0, [sp]\n"
      "ldrd r0, r2, [sp, #72]\n"
      "vdup.16 q0, r0\n"
      "vdup.16 q1, r2\n"
      "vstrw.32 q0, [sp, #96]\n"
      "vstrw.32 q1, [sp, #112]\n"
      "1:\n"
      "ldr r1, [sp, #4]\n"
      "vldrw.32 q4, [r1, #-48]\n"
      "vldrw.32 q5, [r1, #-32]\n"
      "vldrw.32 q6, [r1, #-16]\n"
      "vmov.i32 q0, #0\n"
      "vmax.s32 q1, q6, q0\n"
      "vmin.s32 q6, q6, q0\n"
      "vstrw.32 q1, [sp, #128]\n"
      "2:\n"
      "ldrd r9, r1, [sp]\n"
      "movs r0, #0\n"
      "movs r2, #0\n"
      "movs r4, #0\n"
      "movs r6, #0\n"
      "mov r8, #0\n"
      "mov r10, #0\n"
      "mov r12, #0\n"
      "mov lr, #0\n"
      "3:\n"
      "vldrb.8 q0, [r3], #16\n"
      "vldrw.32 q2, [r1]\n"
      MULTIPLY_CHUNK("vmladava.s8", "", "", "adds r1, #64\n")
      "subs r9, #1\n"
      "bne 3b\n"
      JOIN_EVEN_0 JOIN_ODD_0 JOIN_EVEN_1 JOIN_ODD_1
      LOAD_STEPS
      LOAD_ONE
      RESCALE_GENERAL("q0")
      RESCALE_GENERAL("q1")
      "vqmovnb.s32 q0, q0\n"
      "vqmovnt.s32 q0, q1\n"
      "vldrh.16 q1, [sp, #32]\n"
      "vldrh.16 q2, [sp, #96]\n"
      "vldrh.16 q3, [sp, #112]\n"
      "add r7, r2\n"
      "vqadd.s16 q0, q0, r11\n"
      "vmax.s16 q0, q0, q2\n"
      "vmin.s16 q0, q0, q3\n"
      "vqmovnb.s16 q0, q0\n"
      "vstrb.16 q0, [r7, q1]\n"
      "add r3, r0\n"
      "add r5, r0\n"
      "subs r11, #0x10000\n"
      "bcs 2b\n"
      "ldr r1, [sp, #60]\n"
      "cbz r1, 8f\n"
      "ldr r0, [sp, #24]\n"
      "subs r3, r1\n"
      "subs r5, r1\n"
      "subs r7, r0\n"
      "movs r0, #0\n"
      "str r0, [sp, #60]\n"
      "uxth r11, r11\n"
      "b 2b\n"
      "8:\n"
      "ldr r1, [sp, #4]\n"
      "ldr r0, [sp, #28]\n"
      "cmp r1, r0\n"
      "beq 4f\n"
      "ldr r2, [sp, #48]\n"
      "add r1, r2\n"
      "str r1, [sp, #4]\n"
      "cmp r1, r0\n"
      "bne 9f\n"
      "vldrw.32 q0, [sp, #80]\n"
      "vstrw.32 q0, [sp, #32]\n"
      "9:\n"
      "ldr r0, [sp, #12]\n"
      "str r0, [sp, #60]\n"
      "ldr r11, [sp, #52]\n"
      "ldr r7, [sp, #56]\n"
      "adds r7, #4\n"
      "str r7, [sp, #56]\n"
      START_OF_ROWS
      "b 1b\n"
      "4:\n"
      LEAVE
      CM_ASM_END);
/* clang-format on */

#endif
