/* int16 rows by int8 weights without SIMD, four columns at a time, with sums modulo 2^32.

   Two depths x and y of a row with weights v and w: (y + v)(x + w) is x v + y w, which is wanted, and x y + v
   w. One multiplication makes both products; the rows' x y and the weights' v w are summed once and taken
   off.

   The weights of four columns are one word, as it is a factor of all of them, and shifted right one of fewer:
   sums of those less 256 times the next ones are a column's. Words are unsigned, so weights are plus 128, and
   so that Armv6-M can load them, activations plus 32768. */
#ifndef SHORT_PRODUCT_H
#define SHORT_PRODUCT_H

#include "short_rows.h"

#include <stdint.h>
#include <string.h>

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#include "cmrt/assembly.h"

/* The sums of four columns, of rows that follow each other until their sums reach `end`. pairs: of depths; at
   least one. */
typedef void short_function(uint32_t *sums, const struct short_row *rows, const uint8_t *weights,
                            int32_t pairs, const uint32_t *end);

/* clang-format off */
#define EIGHT_STEPS(STEP) ".irp k, 0, 1, 2, 3, 4, 5, 6, 7\n" STEP ".endr\n"

#ifdef __thumb2__
/* Weights are r8 and r9, activations r10 and r11. 21 cycles for eight products on a Cortex-M3. */
#define SHORT_COLUMN(sum, shift) \
    "add.w r12, r11, r8" shift "\n" \
    "add.w lr, r10, r9" shift "\n" \
    "mla " sum ", r12, lr, " sum "\n"
#define SHORT_STEP \
    "ldr.w r8, [r2, #8*\\k]\n" \
    "ldr.w r9, [r2, #8*\\k+4]\n" \
    "ldrh.w r10, [r1, #4*\\k]\n" \
    "ldrh.w r11, [r1, #4*\\k+2]\n" \
    SHORT_COLUMN("r4", "") SHORT_COLUMN("r5", ", lsr #8") SHORT_COLUMN("r6", ", lsr #16") SHORT_COLUMN("r7", ", lsr #24")
#define SHORT_PART(sum, next) "sub " sum ", " sum ", " next ", lsl #8\n"

/* A step has 64 bytes of code: r3 is those before the first step. On the stack: the sums, and where weights would
   begin with a whole turn. */
short_function cm_scalar_multiply_shorts;
__asm(CM_ASM_FUNCTION(cm_scalar_multiply_shorts)
      "push {r4-r11, lr}\n"
      "add r5, r2, r3, lsl #3\n"
      "rsbs r3, r3, #0\n"
      "and r3, r3, #7\n"
      "sub r2, r2, r3, lsl #3\n"
      "lsls r3, r3, #6\n"
      "push {r0, r2}\n"
      "mov r0, r5\n"
      "1:\n"
      "ldm r1!, {r4-r7}\n"
      "ldr r2, [sp, #4]\n"
      "sub r1, r1, r3, lsr #4\n"
      ".p2align 2\n"
      "add pc, r3\n"
      "nop\n"
      "2:\n"
      EIGHT_STEPS(SHORT_STEP)
      "adds r1, #32\n"
      "adds r2, #64\n"
      "cmp r2, r0\n"
      "bne.w 2b\n"
      "ldr r12, [sp]\n"
      "ldr lr, [sp, #44]\n"
      SHORT_PART("r4", "r5") SHORT_PART("r5", "r6") SHORT_PART("r6", "r7")
      "stm r12!, {r4-r7}\n"
      "cmp r12, lr\n"
      "str r12, [sp]\n"
      "bne.w 1b\n"
      "add sp, #8\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
#else
/* Weights are r6 and r7, activations r0 and r5. */
#define SHORT_COLUMN(sum) \
    "adds r3, r5, r6\n" \
    "adds r4, r0, r7\n" \
    "muls r3, r4, r3\n" \
    "add " sum ", r3\n"
#define SHORT_NEXT_COLUMN(sum) "lsrs r6, r6, #8\n" "lsrs r7, r7, #8\n" SHORT_COLUMN(sum)
#define SHORT_STEP \
    "ldm r2!, {r6, r7}\n" \
    "ldrh r0, [r1, #4*\\k]\n" \
    "ldrh r5, [r1, #4*\\k+2]\n" \
    SHORT_COLUMN("r8") SHORT_NEXT_COLUMN("r9") SHORT_NEXT_COLUMN("r10") SHORT_NEXT_COLUMN("r11")
#define SHORT_PART(sum, next) "lsls r3, " next ", #8\n" "subs " sum ", " sum ", r3\n"

/* A step has 50 bytes of code. On the stack: the sums; weights; bytes of code, and of a row, before the first
   step. The end of the weights is r12, that of the sums lr. */
short_function cm_scalar_multiply_shorts;
__asm(CM_ASM_FUNCTION(cm_scalar_multiply_shorts)
      "push {r4-r7, lr}\n"
      "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n"
      "push {r4-r7}\n"
      "ldr r4, [sp, #36]\n"
      "mov lr, r4\n"
      "lsls r4, r3, #3\n"
      "adds r4, r2, r4\n"
      "mov r12, r4\n"
      "rsbs r3, r3, #0\n"
      "movs r4, #7\n"
      "ands r3, r4\n"
      "lsls r4, r3, #2\n"
      "movs r5, #50\n"
      "muls r3, r5, r3\n"
      "push {r0, r2, r3, r4}\n"
      "1:\n"
      "ldm r1!, {r4-r7}\n"
      "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n"
      "add r2, sp, #4\n"
      "ldm r2, {r2, r3, r4}\n"
      "subs r1, r1, r4\n"
      ".p2align 2\n"
      "add pc, r3\n"
      "nop\n"
      "2:\n"
      EIGHT_STEPS(SHORT_STEP)
      "adds r1, #32\n"
      "cmp r2, r12\n"
      "beq 3f\n"
      "b 2b\n"
      "3:\n"
      "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n"
      "ldr r0, [sp]\n"
      SHORT_PART("r4", "r5") SHORT_PART("r5", "r6") SHORT_PART("r6", "r7")
      "stm r0!, {r4-r7}\n"
      "cmp r0, lr\n"
      "beq 4f\n"
      "str r0, [sp]\n"
      "b 1b\n"
      "4:\n"
      "add sp, #16\n"
      "pop {r4-r7}\n"
      "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n"
      "pop {r4-r7, pc}\n"
      CM_ASM_END);
#endif
/* clang-format on */
#else
static inline void cm_scalar_multiply_shorts(uint32_t *sums, const struct short_row *rows,
                                             const uint8_t *weights, int32_t pairs, const uint32_t *end)
{
    for (; sums != end; sums += COLUMNS, rows = next_row(rows, pairs)) {
        uint32_t words[2];
        memcpy(sums, rows->starts, sizeof rows->starts);
        for (int32_t k = 0; k < pairs; ++k) {
            memcpy(words, weights + (size_t)k * sizeof words, sizeof words);
            for (int32_t i = 0; i < COLUMNS; ++i)
                sums[i] += (rows->shorts[2 * k + 1] + (words[0] >> 8 * i)) *
                           (rows->shorts[2 * k] + (words[1] >> 8 * i));
        }
        for (int32_t i = 0; i + 1 < COLUMNS; ++i)
            sums[i] -= sums[i + 1] << 8;
    }
}
#endif

#endif
