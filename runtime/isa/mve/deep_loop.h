/* Matrix products with MVE of more than a chunk of depths: the first chunk of a pair of rows is multiplied
   while the sums of the pair before it are rescaled.

   A type of rows has FIRST and MORE, its multiplications with and without sums of their own; MULTIPLY_CHUNK,
   FIRST_COLUMN, NEXT_COLUMN and LOAD_HEAD; LAST_ROW and LAST_COLUMN, which the last chunk has for NEXT_ROW
   and NEXT_COLUMN and which contain NEXT_PAIR; and FINISH_AND_START, which may need FIRST_COLUMN before it.
 */
#ifndef DEEP_LOOP_H
#define DEEP_LOOP_H

#include "product.h"

/* clang-format off */
#define NEXT_ROW "vldrb.8 q0, [r3], #16\n"

/* 14 instructions of four bytes. */
#define MULTIPLY(mac, SPARE) MULTIPLY_CHUNK(mac, SPARE, NEXT_ROW, NEXT_COLUMN)

/* Then r1 and r9 are those of the next pair, and the carry is clear if there is none. */
#define NEXT_PAIR "ldrd r9, r1, [sp]\n"
#define MULTIPLY_LAST MULTIPLY_CHUNK(MORE, "subs r11, #0x10000\n", LAST_ROW, LAST_COLUMN)

/* The first chunk sets the sums; the loop of two, left after either, adds those up to the last. LE without a
   counter, as all registers that could be one are sums, branches from the loop information cache as LE with
   one does (Armv8-M Architecture Reference Manual, DDI 0553, LE). Instructions that count lie between products
   that would wait anyway. Behind the last pair of rows FINISH_AND_START begins the one that is one row back,
   or the next block, or, after the last one, what is not used; a copy of it goes on at 6, 9 or 10, of which
   r9 has the address until it is at [sp, #8]. Flags tell the last block apart, as FINISH_AND_START changes
   none. `pending` is negative while the pair one row back is multiplied. */
#define DEEP_LOOP(name, FINISH_AND_START) DEEP_LOOP_FROM(name, FINISH_AND_START, "", "", "")

/* For two chunks, between which there are none. */
#define SKIP_LOOP \
    "cmp r9, #0\n" \
    "beq.w 3b\n"

/* NEXT_ROWS is between blocks, with r3 and r5 as at [sp, #64]; r9 is free. SKIP is before the loop.
   OTHER_LOOP, with an entry of its own, shares what is before and behind the pairs of a block. */
#define DEEP_LOOP_FROM(name, FINISH_AND_START, NEXT_ROWS, SKIP, OTHER_LOOP) \
    product_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "adr.w r2, 1f\n" \
          "0:\n" \
          "adr.w r4, 6f\n" \
          "add r2, #1\n" /* Thumb */ \
          "add r4, #1\n" \
          "strd r4, r11, [sp, #100]\n" \
          "str r2, [sp, #108]\n" \
          "ldrd r9, r1, [sp]\n" \
          NEXT_ROW \
          FIRST_COLUMN \
          MULTIPLY(FIRST, "") \
          LOAD_HEAD \
          "ldr pc, [sp, #108]\n" \
          \
          ".p2align 2\n" \
          "3:\n" \
          MULTIPLY_LAST \
          "bcc.w 4f\n" \
          FINISH_AND_START \
          "1:\n" \
          SKIP \
          "2:\n" \
          MULTIPLY(MORE, "subs.w r9, r9, #2\n") \
          "bmi.w 3b\n" \
          MULTIPLY(MORE, "") \
          "beq.w 3b\n" \
          "le 2b\n" \
          \
          OTHER_LOOP \
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
          "b.w 11f\n" \
          "7:\n" \
          "rsbs r9, r3, #0\n" \
          "str r9, [sp, #60]\n" \
          "bpl 5b\n" \
          "sub.w r5, r5, r3\n" \
          "sub.w r3, r5, r3\n" \
          "adr.w r9, 9f\n" \
          "b 12f\n" \
          "8:\n" \
          "ldr r1, [sp, #4]\n" \
          "adr.w r9, 10f\n" \
          "12:\n" \
          "add r9, #1\n" \
          "str r9, [sp, #8]\n" \
          "11:\n" \
          FINISH_AND_START \
          "ldr pc, [sp, #8]\n" \
          \
          ".p2align 2\n" \
          "6:\n" /* r9 and r11 are free */ \
          "bne 13f\n" \
          "vldrw.32 q1, [sp, #80]\n" \
          "vstrw.32 q1, [sp, #32]\n" \
          "13:\n" \
          "ldr r9, [sp, #96]\n" \
          LOAD_HEAD \
          "add r7, r9\n" \
          "ldr r11, [sp, #104]\n" \
          "ldr r9, [sp]\n" \
          "ldr pc, [sp, #108]\n" \
          \
          ".p2align 2\n" \
          "9:\n" \
          "ldr r9, [sp, #24]\n" \
          "uxth r11, r11\n" \
          "sub r7, r9\n" \
          "ldr r9, [sp]\n" \
          "ldr pc, [sp, #108]\n" \
          \
          ".p2align 2\n" \
          "10:\n" \
          LEAVE \
          CM_ASM_END)
/* clang-format on */

#endif
