/* Functions in assembly that multiply rows in the workspace by packed weights. */
#ifndef TURNS_H
#define TURNS_H

#include "cmrt/assembly.h"

/* clang-format off */
/* The arguments are sums, rows, weights and a number of steps, in r0 to r3. A step takes a word of weights from r2,
   and as many bytes from r1 as the power `log` of two; STEP is its code, of `code` bytes. Eight steps are a turn;
   if their number is no multiple of that, the first turn begins within. START: before the first turn, keeps r1 to
   r3. PART: after each turn; FINISH: after the last one; AGAIN, only with Thumb-1, between turns. */
#define TURNS_FUNCTION(name, STEP, code, log, START, PART, AGAIN, FINISH) \
    CM_ASM_FUNCTION(name) \
    TURNS_ENTER \
    "lsls r4, r3, #2\n" \
    "adds r4, r2, r4\n" \
    "str r4, " TURNS_END "\n" \
    "rsbs r3, r3, #0\n" \
    "movs r4, #7\n" \
    "ands r3, r4\n" \
    "lsls r4, r3, #2\n" \
    "subs r2, r2, r4\n" \
    "lsls r4, r3, #" log "\n" \
    "subs r1, r1, r4\n" \
    "movs r4, #" code "\n" \
    "muls r3, r4, r3\n" \
    START \
    ".p2align 2\n" \
    "add pc, r3\n" \
    "nop\n" \
    "1:\n" \
    ".irp k, 0, 1, 2, 3, 4, 5, 6, 7\n" \
    STEP("\\k") \
    ".endr\n" \
    PART \
    "adds r1, #8<<" log "\n" \
    "adds r2, #32\n" \
    "ldr r0, " TURNS_END "\n" \
    "cmp r2, r0\n" \
    TURNS_AGAIN(AGAIN) \
    FINISH \
    TURNS_LEAVE \
    CM_ASM_END

/* Where the sums and the end of the weights are on the stack. */
#ifdef __thumb2__
#define TURNS_SUMS "[sp]"
#define TURNS_END "[sp, #4]"
#define TURNS_ENTER "push {r0, r3-r11, lr}\n"
#define TURNS_AGAIN(AGAIN) "bne.w 1b\n"
#define TURNS_LEAVE "pop {r0, r3-r11, pc}\n"
#else
#define TURNS_SUMS "[sp, #16]"
#define TURNS_END "[sp, #20]"
#define TURNS_ENTER \
    "push {r0, r3-r7, lr}\n" \
    "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n" \
    "push {r4-r7}\n"
#define TURNS_AGAIN(AGAIN) "beq 2f\n" AGAIN "b 1b\n" "2:\n"
#define TURNS_LEAVE \
    "pop {r4-r7}\n" \
    "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n" \
    "pop {r0, r3-r7, pc}\n"
#endif
/* clang-format on */

#endif
