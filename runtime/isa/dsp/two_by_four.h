/* Rows of 16-bit words by a matrix of weights with the DSP extension: two rows by four columns at a time.

   Words of both rows, two depths each, alternate in the workspace. Eight sums, two words of rows, two of
   weights and two pointers fill the fourteen registers: hence assembly. What includes it defines the loops.
 */
#ifndef TWO_BY_FOUR_H
#define TWO_BY_FOUR_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"
#include "cortex_m7.h"

#include <stddef.h>

enum { ROWS = 2, COLUMNS = 4 };

/* Words of both rows in each turn of the loop, and bytes of code for one. */
enum { TURN = 32, CODE = 56 };

/* Operands of the assembly. */
struct strip {
    const uint32_t *rows; /* after the sum of each row, or what follows from it */
    uintptr_t rows_end;   /* less one for the other kind of outputs */
    int32_t entry;        /* entry point, in bytes from the loop's start */
    void *out;
    int32_t out_stride;
    const uint8_t *weights_end;
    int32_t zero_point;
    const uint8_t *weights;
    /* Where pairs of rows follow each other: */
    const int8_t *lhs; /* NULL if one is in the workspace */
    int32_t lhs_stride, words, pairs;
};
typedef void strip_function(const struct strip *strip);

/* clang-format off */
#define ADD(sum, row, weights) "smlad " sum ", " row ", " weights ", " sum "\n"
#define FOUR_TIMES(text) text text text text

/* Copies a strip but the weights to the stack, and leaves the address of label 2 plus the entry point there. */
#define ENTER_STRIP \
    "push {r4-r11, lr}\n" \
    "sub sp, #28\n" \
    "ldm r0!, {r1-r7}\n" \
    "ldr r12, [r0]\n" \
    "adr.w r0, 2f\n" \
    "add r3, r0\n" \
    "adds r3, #1\n" /* Thumb */ \
    "stm sp, {r1-r7}\n"

/* The same of pairs of rows; the frame ends with the outputs of the pair. */
#define ENTER_PAIRS \
    "push {r4-r11, lr}\n" \
    "sub sp, #52\n" \
    "ldm r0!, {r1-r8}\n" \
    "adr.w r9, 2f\n" \
    "add r3, r9\n" \
    "adds r3, #1\n" /* Thumb */ \
    "stm sp, {r1-r8}\n" \
    "mov r9, r4\n" \
    "ldm r0, {r5-r8}\n" \
    "add r0, sp, #32\n" \
    "stm r0, {r5-r9}\n"

/* Packs the next pair of rows, if there is any: PACK takes words from r1 and r2 on to r0, whose number is in r3, and
   leaves what stands before them in r8 and r9. */
#define NEXT_ROWS(PACK) \
    "ldr r1, [sp, #32]\n" \
    "cmp r1, #0\n" \
    "beq.w 9f\n" \
    "ldr r2, [sp, #36]\n" \
    "ldr r3, [sp, #40]\n" \
    "ldr r0, [sp]\n" \
    "add r4, r1, r2, lsl #1\n" \
    "add r2, r1\n" \
    "str r4, [sp, #32]\n" \
    "mov r8, #0\n" \
    "mov r9, #0\n" \
    "mov r10, #0x00010001\n" \
    PACK \
    "ldr r0, [sp]\n" \
    "strd r8, r9, [r0, #-8]\n" \
    "9:\n" \
    "ldr r12, [sp, #28]\n"

#define LEAVE_PAIRS \
    "ldr r0, [sp, #44]\n" \
    "ldr r1, [sp, #48]\n" \
    "ldr r2, [sp, #16]\n" \
    "subs r0, #1\n" \
    "add r1, r1, r2, lsl #1\n" \
    "str r0, [sp, #44]\n" \
    "str r1, [sp, #48]\n" \
    "str r1, [sp, #12]\n" \
    "bne.w 8b\n" \
    "add sp, #52\n" \
    "pop {r4-r11, pc}\n"

/* START makes the products of the first word of each row. OUTPUT leaves r12 behind the four columns and the end of
   all in r10; what the loop's end compared tells it both kinds of outputs apart. REST is code that it branches to. */
#define STRIP_FUNCTION(name, PACK, START, MULTIPLY, OUTPUT, REST) \
    strip_function name; \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER_PAIRS \
          "8:\n" \
          NEXT_ROWS(PACK) \
          ".p2align 2\n" \
          "1:\n" \
          "ldr lr, [sp]\n" \
          START \
          "ldr pc, [sp, #8]\n" \
          ".p2align 2\n" \
          "2:\n" \
          FOUR_TIMES(FOUR_TIMES(MULTIPLY MULTIPLY)) \
          "ldr r11, [sp, #4]\n" \
          "cmp.w lr, r11\n" \
          "blo.w 2b\n" \
          OUTPUT \
          "cmp r12, r10\n" \
          "bne.w 1b\n" \
          LEAVE_PAIRS \
          REST \
          CM_ASM_END)

/* Two words of two rows of int16, as they come and as they go; and all words, with their sums. A Cortex-M7 loads two
   words a cycle, and stores two. */
#if IS_CORTEX_M7
#define LOAD_TWO \
    "ldr r6, [r1, #4]\n" \
    "ldr r4, [r1], #8\n" \
    "ldr r7, [r2, #4]\n" \
    "ldr r5, [r2], #8\n"
#define STORE_TWO "stm r0!, {r4-r7}\n"
#else
#define LOAD_TWO \
    "ldr r4, [r1], #4\n" \
    "ldr r5, [r2], #4\n" \
    "ldr r6, [r1], #4\n" \
    "ldr r7, [r2], #4\n"
#define STORE_TWO \
    "str r4, [r0], #4\n" \
    "str r5, [r0], #4\n" \
    "str r6, [r0], #4\n" \
    "str r7, [r0], #4\n"
#endif
#define PACK_TWO \
    LOAD_TWO \
    ADD("r8", "r4", "r10") ADD("r9", "r5", "r10") ADD("r8", "r6", "r10") ADD("r9", "r7", "r10") \
    STORE_TWO

#define PACK_SHORTS \
    "lsrs r3, r3, #1\n" \
    "bcc 3f\n" \
    "ldr r4, [r1], #4\n" \
    "ldr r5, [r2], #4\n" \
    ADD("r8", "r4", "r10") ADD("r9", "r5", "r10") \
    "str r4, [r0], #4\n" \
    "str r5, [r0], #4\n" \
    "3:\n" \
    "lsrs r3, r3, #1\n" \
    "bcc 4f\n" \
    "adds r3, #1\n" \
    "b 6f\n" \
    "4:\n" \
    "beq 7f\n" \
    ".p2align 2\n" \
    "5:\n" \
    PACK_TWO \
    "6:\n" \
    PACK_TWO \
    "subs r3, #1\n" \
    "bne 5b\n" \
    "7:\n"

/* The next operands of a Cortex-M7, which issues a load or another instruction beside each product. */
#define LOAD_NEXT \
    "ldr r10, [r12]\n" \
    "ldr r8, [lr]\n" \
    "ldr r9, [lr, #4]\n"
/* clang-format on */

/* Of two rows in the workspace, of so many words each. */
static inline struct strip strip_of(const uint32_t *rows, int32_t words, int32_t out_stride)
{
    const int32_t left = words - 1, skipped = left > 0 ? -left & (TURN - 1) : TURN;
    return (struct strip){
        .rows = rows,
        .rows_end = (uintptr_t)(rows + ROWS * words),
        .entry = skipped * CODE,
        .out_stride = out_stride,
        .pairs = 1,
    };
}

#endif
