/* Matrix products with MVE of more than a chunk of depths: the first chunk of a pair of rows is multiplied
   while the sums of the pair before it are rescaled.

   A type of rows has FIRST and MORE, its multiplications with and without sums of their own; MULTIPLY_CHUNK,
   FIRST_COLUMN, NEXT_COLUMN and LOAD_HEAD; LAST_ROW and LAST_COLUMN, which the last chunk has for NEXT_ROW
   and NEXT_COLUMN and which contain NEXT_PAIR; and FINISH_AND_START, which may need FIRST_COLUMN before it.
 */
#ifndef DEEP_LOOP_H
#define DEEP_LOOP_H

#include "product.h"

enum { CHUNK_CODE = 56, LOOP_END_CODE = 8 };

/* clang-format off */
#define NEXT_ROW "vldrb.8 q0, [r3], #16\n"

/* 14 instructions of four bytes. */
#define MULTIPLY(mac) MULTIPLY_CHUNK(mac, "", NEXT_ROW, NEXT_COLUMN)

/* Then r1 and r9 are those of the next pair, and the carry is clear if there is none. */
#define NEXT_PAIR "ldrd r9, r1, [sp]\n"
#define MULTIPLY_LAST MULTIPLY_CHUNK(MORE, "subs r11, #0x10000\n", LAST_ROW, LAST_COLUMN)

/* The first chunk sets the sums; the loop of four, entered so that its last iteration is complete, and the
   copies after it, up to three, add those up to the last. Behind the last pair of rows FINISH_AND_START begins
   the one that is one row back, or the next block, or, after the last one, what is not used; then it goes on
   at 6, 9 or 10 instead of the loop, for which the entry at [sp, #8] is changed. Flags tell the last block
   apart, as FINISH_AND_START changes none. `pending` is negative while the pair one row back is multiplied. */
#define DEEP_LOOP(name, FINISH_AND_START) DEEP_LOOP_FROM(name, FINISH_AND_START, "")

/* NEXT_ROWS is between blocks, with r3 and r5 as at [sp, #64]; r9 is free. */
#define DEEP_LOOP_FROM(name, FINISH_AND_START, NEXT_ROWS) \
    product_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "ldr r2, [sp, #8]\n" \
          "adr.w r1, 2f\n" \
          "add r2, r1\n" \
          "add r2, #1\n" /* Thumb */ \
          "str r2, [sp, #8]\n" \
          "strd r2, r11, [sp, #104]\n" \
          "adr.w r4, 6f\n" \
          "add r4, #1\n" \
          "str r4, [sp, #100]\n" \
          "ldrd r9, r1, [sp]\n" \
          NEXT_ROW \
          FIRST_COLUMN \
          MULTIPLY(FIRST) \
          LOAD_HEAD \
          "ldr pc, [sp, #8]\n" \
          \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY(MORE) \
          MULTIPLY(MORE) \
          MULTIPLY(MORE) \
          MULTIPLY_CHUNK(MORE, "subs.w r9, r9, #1\n", NEXT_ROW, NEXT_COLUMN) \
          "bne.w 2b\n" \
          MULTIPLY(MORE) \
          MULTIPLY(MORE) \
          MULTIPLY(MORE) \
          MULTIPLY_LAST \
          "bcc.w 4f\n" \
          "3:\n" \
          FINISH_AND_START \
          "ldr pc, [sp, #8]\n" \
          \
          "4:\n" /* r3, r5 and r9 are free unless a row is left */ \
          "ldr r3, [sp, #60]\n" \
          "cbnz r3, 7f\n" \
          "5:\n" \
          "ldrd r3, r5, [sp, #64]\n" \
          NEXT_ROWS \
          "ldr r9, [sp, #48]\n" \
          "add r1, r9\n" \
          "ldr r9, [sp, #28]\n" \
          "cmp r1, r9\n" \
          "bhi 8f\n" \
          "ldr r9, [sp, #100]\n" \
          "strd r1, r9, [sp, #4]\n" \
          FIRST_COLUMN \
          "b.w 3b\n" \
          "7:\n" \
          "rsbs r9, r3, #0\n" \
          "str r9, [sp, #60]\n" \
          "bpl 5b\n" \
          "sub.w r5, r5, r3\n" \
          "sub.w r3, r5, r3\n" \
          "adr.w r9, 9f\n" \
          "b 1f\n" \
          "8:\n" \
          "ldr r1, [sp, #4]\n" \
          "adr.w r9, 10f\n" \
          "1:\n" \
          "add r9, #1\n" \
          "str r9, [sp, #8]\n" \
          "b.w 3b\n" \
          \
          ".p2align 2\n" \
          "6:\n" /* r9 and r11 are free */ \
          "bne 1f\n" \
          "vldrw.32 q1, [sp, #80]\n" \
          "vstrw.32 q1, [sp, #32]\n" \
          "1:\n" \
          "ldr r9, [sp, #96]\n" \
          LOAD_HEAD \
          "add r7, r9\n" \
          "ldrd r9, r11, [sp, #104]\n" \
          "str r9, [sp, #8]\n" \
          "ldr r9, [sp]\n" \
          "ldr pc, [sp, #8]\n" \
          \
          ".p2align 2\n" \
          "9:\n" \
          "ldr r9, [sp, #24]\n" \
          "uxth r11, r11\n" \
          "sub r7, r9\n" \
          "ldr r9, [sp, #104]\n" \
          "str r9, [sp, #8]\n" \
          "ldr r9, [sp]\n" \
          "ldr pc, [sp, #8]\n" \
          \
          ".p2align 2\n" \
          "10:\n" \
          LEAVE \
          CM_ASM_END)
/* clang-format on */

#endif
