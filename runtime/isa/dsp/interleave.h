/* Rows of four channels side by side: pairs of rows as words of two 16-bit numbers. */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include "cmrt/assembly.h"

#include <stdint.h>

/* Two input rows at the first column. */
struct cm_row_pair {
    const int8_t *at[2];
    int32_t step[2];       /* from a column to the next, or 0 to repeat the first */
    uint32_t *out, *again; /* again: also written, unless NULL */
};

/* Of each pair, `columns` columns of four channels to words that are `pitch` bytes apart, a word for each
   channel. Then goes on to the next four channels, except in rows of step 0. `columns` is positive. */
typedef void interleave_function(struct cm_row_pair *pairs, const struct cm_row_pair *pairs_end,
                                 int32_t pitch, int32_t columns);
interleave_function cm_dsp_interleave, cm_dsp_interleave_s16;

/* clang-format off */
#define STORE_ONCE(word, offset) "str " word ", [r5, #" offset "]\n"
#define STORE_TWICE(word, offset) STORE_ONCE(word, offset) "str " word ", [r6, #" offset "]\n"
#define MOVE_ONCE "add r5, r7\n"
#define MOVE_TWICE MOVE_ONCE "add r6, r7\n"

#define INTERLEAVE_COLUMN(above, below, STORE, MOVE) \
    "pkhbt lr, " above ", " below ", lsl #16\n" \
    "pkhtb " above ", " below ", " above ", asr #16\n" \
    "sxtb16 " below ", lr\n" \
    "sxtb16 lr, lr, ror #8\n" \
    STORE(below, "0") \
    "sxtb16 " below ", " above "\n" \
    STORE("lr", "4") \
    "sxtb16 " above ", " above ", ror #8\n" \
    STORE(below, "8") \
    STORE(above, "12") \
    MOVE

/* Bytes, two columns a turn. An odd number of them begins in the middle. */
#define INTERLEAVE_BYTES(STORE, MOVE) \
    "bcc 2f\n" \
    "ldr r10, [r1]\n" \
    "ldr r12, [r2]\n" \
    "add r1, r3\n" \
    "add r2, r4\n" \
    "add r8, #1\n" \
    "b 3f\n" \
    ".p2align 2\n" \
    "2:\n" \
    "ldr r9, [r1]\n" \
    "ldr r10, [r1, r3]\n" \
    "ldr r11, [r2]\n" \
    "ldr r12, [r2, r4]\n" \
    "add r1, r1, r3, lsl #1\n" \
    "add r2, r2, r4, lsl #1\n" \
    INTERLEAVE_COLUMN("r9", "r11", STORE, MOVE) \
    "3:\n" \
    INTERLEAVE_COLUMN("r10", "r12", STORE, MOVE) \
    "subs r8, #1\n" \
    "bne 2b\n"

#define LOAD_SHORTS(STORE, MOVE) \
    "ldr r9, [r1]\n" \
    "ldr r10, [r1, #4]\n" \
    "ldr r11, [r2]\n" \
    "ldr r12, [r2, #4]\n" \
    "add r1, r3\n" \
    "add r2, r4\n" \
    "pkhbt lr, r9, r11, lsl #16\n" \
    "pkhtb r9, r11, r9, asr #16\n" \
    "pkhbt r11, r10, r12, lsl #16\n" \
    "pkhtb r10, r12, r10, asr #16\n" \
    STORE("lr", "0") STORE("r9", "4") STORE("r11", "8") STORE("r10", "12") \
    MOVE

/* Halfwords, the same way. */
#define INTERLEAVE_SHORTS(STORE, MOVE) \
    "bcc 2f\n" \
    "add r8, #1\n" \
    "b 3f\n" \
    "2:\n" \
    LOAD_SHORTS(STORE, MOVE) \
    "3:\n" \
    LOAD_SHORTS(STORE, MOVE) \
    "subs r8, #1\n" \
    "bne 2b\n"

/* four: bytes of four channels. */
#define INTERLEAVE_FUNCTION(name, INTERLEAVE_COLUMNS, four) \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r1, r3, r4-r11, lr}\n" \
          "mov r7, r2\n" \
          "1:\n" \
          "ldm r0, {r1-r6}\n" \
          "mov r9, r1\n" \
          "mov r10, r2\n" \
          "ldr r8, [sp, #4]\n" \
          "cmp r3, #0\n" \
          "it ne\n" \
          "addne r9, #" four "\n" \
          "cmp r4, #0\n" \
          "it ne\n" \
          "addne r10, #" four "\n" \
          "strd r9, r10, [r0], #24\n" \
          "cmp r6, #0\n" \
          "bne 4f\n" \
          "lsrs r8, #1\n" \
          INTERLEAVE_COLUMNS(STORE_ONCE, MOVE_ONCE) \
          "b 5f\n" \
          "4:\n" \
          "lsrs r8, #1\n" \
          INTERLEAVE_COLUMNS(STORE_TWICE, MOVE_TWICE) \
          "5:\n" \
          "ldr r1, [sp]\n" \
          "cmp r0, r1\n" \
          "bne 1b\n" \
          "pop {r1, r3, r4-r11, pc}\n" \
          CM_ASM_END)
/* clang-format on */

#endif
