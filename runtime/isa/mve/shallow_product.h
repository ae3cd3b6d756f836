/* int8 matrix product with MVE for depths of up to 16: the weights of four columns stay in registers, and a
   pair of rows is multiplied while the sums of the pair before it are rescaled. */
#ifndef SHALLOW_PRODUCT_H
#define SHALLOW_PRODUCT_H

#include "product.h"

/* clang-format off */
/* q0 and q1 are the sums of the pair before, q2 a row, q3 what the sums meet, q4 to q7 the columns, r9 is 1.
   Products alternate with what other pipes execute. The last turn multiplies its own pair once more, as there
   may be nothing to read behind it. */
#define SHALLOW_FUNCTION(name, ROUND) \
    product_function name; \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER \
          "mov r9, #1\n" \
          "1:\n" \
          "ldr r1, [sp]\n" \
          "vldrw.32 q0, [r1, #-48]\n" \
          "vldrw.32 q1, [r1, #-32]\n" \
          "vldrw.32 q2, [r1, #-16]\n" \
          "vldrw.32 q4, [r1]\n" \
          "vldrw.32 q5, [r1, #16]\n" \
          "vldrw.32 q6, [r1, #32]\n" \
          "vldrw.32 q7, [r1, #48]\n" \
          "vstrw.32 q0, [sp, #96]\n" \
          "vstrw.32 q1, [sp, #112]\n" \
          "vstrw.32 q2, [sp, #128]\n" \
          "2:\n" \
          "vldrb.8 q0, [r3]\n" \
          "vldrb.8 q1, [r5]\n" \
          "vmladav.s8 r0, q0, q4\n" \
          "vmladav.s8 r2, q0, q5\n" \
          "vmladav.s8 r4, q0, q6\n" \
          "vmladav.s8 r6, q0, q7\n" \
          "vmladav.s8 r8, q1, q4\n" \
          "vmladav.s8 r10, q1, q5\n" \
          "vmladav.s8 r12, q1, q6\n" \
          "vmladav.s8 lr, q1, q7\n" \
          \
          ".p2align 2\n" \
          "3:\n" \
          JOIN_EVEN_0 \
          "vldrw.32 q3, [sp, #96]\n" \
          JOIN_ODD_0 \
          LOAD_STEPS \
          JOIN_EVEN_1 \
          "vadd.i32 q0, q0, q3\n" \
          JOIN_ODD_1 \
          "vadd.i32 q1, q1, q3\n" \
          "vldrw.32 q3, [sp, #112]\n" \
          "vqrdmulh.s32 q1, q1, q3\n" \
          "subs r11, #0x10000\n" \
          "vqrdmulh.s32 q0, q0, q3\n" \
          "add r7, r2\n" \
          "itt cs\n" \
          "addcs r3, r0\n" \
          "addcs r5, r0\n" \
          "vldrw.32 q3, [sp, #128]\n" \
          ROUND \
          "vrshl.s32 q1, q1, q3\n" \
          "vldrb.8 q2, [r3]\n" \
          "vmladav.s8 r6, q2, q7\n" \
          "vrshl.s32 q0, q0, q3\n" \
          "vmladav.s8 r0, q2, q4\n" \
          "vqmovnb.s32 q0, q0\n" \
          "vmladav.s8 r2, q2, q5\n" \
          "vqmovnt.s32 q0, q1\n" \
          "vmladav.s8 r4, q2, q6\n" \
          "vldrb.8 q2, [r5]\n" \
          "vmladav.s8 r10, q2, q5\n" \
          "vqadd.s16 q0, q0, r11\n" \
          "vmladav.s8 lr, q2, q7\n" \
          "vqmovnb.s16 q0, q0\n" \
          "vldrh.16 q3, [sp, #32]\n" \
          "vmladav.s8 r8, q2, q4\n" \
          "vstrb.16 q0, [r7, q3]\n" \
          "vmladav.s8 r12, q2, q6\n" \
          "bcs.w 3b\n" \
          \
          "ldr r0, [sp, #8]\n" \
          "add r3, r0\n" \
          "add r5, r0\n" \
          NEXT_ROWS("2b", "1b", "4f") \
          "4:\n" \
          LEAVE \
          CM_ASM_END)

#define SHALLOW_RIGHT \
    "vqdmlah.s32 q0, q0, r9\n" \
    "vqdmlah.s32 q1, q1, r9\n"

SHALLOW_FUNCTION(cm_mve_multiply_shallow_half_up, "");
SHALLOW_FUNCTION(cm_mve_multiply_shallow_right, SHALLOW_RIGHT);
/* clang-format on */

#endif
