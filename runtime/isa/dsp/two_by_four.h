/* Rows of 16-bit words by a matrix of weights with the DSP extension: two rows by four columns at a time.

   Words of both rows, two depths each, alternate in the workspace. Eight sums, two words of rows, two of
   weights and two pointers fill the fourteen registers: hence assembly. What includes it defines the loops.
 */
#ifndef TWO_BY_FOUR_H
#define TWO_BY_FOUR_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"

#include <stddef.h>

enum { ROWS = 2, COLUMNS = 4 };

/* Words of both rows in each turn of the loop, and bytes of code for one. */
enum { TURN = 16, CODE = 56 };

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

/* START makes the products of the first word of each row. OUTPUT leaves r12 behind the four columns and the end of
   all in r10; what the loop's end compared tells it both kinds of outputs apart. REST is code that it branches to. */
#define STRIP_FUNCTION(name, START, MULTIPLY, OUTPUT, REST) \
    strip_function name; \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER_STRIP \
          ".p2align 2\n" \
          "1:\n" \
          "ldr lr, [sp]\n" \
          START \
          "ldr pc, [sp, #8]\n" \
          ".p2align 2\n" \
          "2:\n" \
          FOUR_TIMES(FOUR_TIMES(MULTIPLY)) \
          "ldr r11, [sp, #4]\n" \
          "cmp lr, r11\n" \
          "blo.w 2b\n" \
          OUTPUT \
          "cmp r12, r10\n" \
          "bne.w 1b\n" \
          "add sp, #28\n" \
          "pop {r4-r11, pc}\n" \
          REST \
          CM_ASM_END)

/* The next operands of a Cortex-M7, which issues a load or another instruction beside each product. */
#define LOAD_NEXT \
    "ldr r10, [r12]\n" \
    "ldr r8, [lr]\n" \
    "ldr r9, [lr, #4]\n"
/* clang-format on */

/* So many words of two rows of int16 in turn; of an odd number of depths, what follows the last one does not
   matter. Takes 128 times the sums of the rows off two numbers. */
void cm_dsp_pack_two(uint32_t *out, const int8_t *row, int32_t stride, int32_t words, uint32_t *starts);

/* Of two rows in the workspace, of so many words each. */
static inline struct strip strip_of(const uint32_t *rows, int32_t words, int32_t out_stride)
{
    const int32_t left = words - 1, skipped = left > 0 ? -left & (TURN - 1) : TURN;
    return (struct strip){
        .rows = rows,
        .rows_end = (uintptr_t)(rows + ROWS * words),
        .entry = skipped * CODE,
        .out_stride = out_stride,
    };
}

#endif
