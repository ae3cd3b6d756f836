/* One int8 row by four columns at a time with the DSP extension.

   As in gemm_s8.c, the row is widened once and int8 weights at each use, and the assembly needs all fourteen
   registers. Four columns are their biases, four depths of each in turn, and what OUTPUT reads. */
#ifndef ROW_PRODUCT_H
#define ROW_PRODUCT_H

#include "cmrt/assembly.h"
#include "simd.h"

enum { COLUMNS = 4, DEPTHS = 4, TURN = 4, NARROW_CODE = 88 };

/* Operands of the assembly, which copies all but the weights to its stack frame. */
struct strip {
    const uint32_t *row, *row_end; /* widened */
    int32_t entry;                 /* entry point, in bytes from the loop's start */
    const void *weights_end;
    void *out; /* outputs, or sums if C rescales them */
    int32_t zero_point;
    const void *weights;
};

/* clang-format off */
#define EVEN(weights) "sxtb16 r10, " weights "\n"
#define ODD(weights) "sxtb16 " weights ", " weights ", ror #8\n"
#define ADD_EVEN(sum) "smlad " sum ", r8, r10, " sum "\n"
#define ADD_ODD(sum, weights) "smlad " sum ", r9, " weights ", " sum "\n"

/* Four depths: 22 instructions of four bytes. No result is used by the instruction after; loads that follow
   each other overlap on a Cortex-M4. */
#define MULTIPLY_NARROW \
    "ldr.w r5, [r12, #4]\n" \
    "ldr.w r6, [r12, #8]\n" \
    "ldr.w r7, [r12, #12]\n" \
    "ldr.w r4, [r12], #16\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr.w r8, [lr], #8\n" \
    EVEN("r4") ODD("r4") ADD_EVEN("r0") \
    EVEN("r5") ADD_ODD("r0", "r4") ODD("r5") ADD_EVEN("r1") \
    EVEN("r6") ADD_ODD("r1", "r5") ODD("r6") ADD_EVEN("r2") \
    EVEN("r7") ADD_ODD("r2", "r6") ODD("r7") ADD_EVEN("r3") ADD_ODD("r3", "r7")

#define TURN_OF_FOUR(MULTIPLY) MULTIPLY MULTIPLY MULTIPLY MULTIPLY

/* PRELOAD may load r4 to r10 for the first MULTIPLY, as each one may for the next.
   OUTPUT stores r0 to r3 at [sp, #16] and leaves r12 behind the four columns and r11 as it is. */
#define STRIP_FUNCTION(name, PRELOAD, MULTIPLY, OUTPUT) \
    void name(const struct strip *strip); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "sub sp, #24\n" \
          "ldm r0!, {r1-r6}\n" \
          "stm sp, {r1-r6}\n" \
          "ldr r12, [r0]\n" \
          "adr.w r1, 2f\n" \
          "add r1, r3\n" \
          "add r1, #1\n" /* Thumb */ \
          "str r1, [sp, #8]\n" \
          "mov r11, r2\n" \
          \
          "1:\n" \
          "ldm r12!, {r0-r3}\n" \
          "ldr lr, [sp]\n" \
          PRELOAD \
          "ldr pc, [sp, #8]\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY \
          "cmp lr, r11\n" \
          "bne.w 2b\n" \
          OUTPUT \
          "ldr r4, [sp, #12]\n" \
          "cmp r12, r4\n" \
          "bne.w 1b\n" \
          "add sp, #24\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

/* Leaves the sums and what follows them, of so many bytes, to C. */
#define STORE_SUMS(bytes) \
    "ldr r10, [sp, #16]\n" \
    "stm r10!, {r0-r3}\n" \
    "str r10, [sp, #16]\n" \
    "add r12, #" bytes "\n"
/* clang-format on */

/* All but columns and outputs, of a row that is widened into the workspace.

   code: bytes of code for four depths. */
static inline struct strip strip_of(void *workspace, const int8_t *row, int32_t depth, int32_t zero_point,
                                    int32_t code)
{
    int32_t chunks = depth > 0 ? (depth + DEPTHS - 1) / DEPTHS : 1;
    struct strip strip = {.row = workspace, .entry = (-chunks & (TURN - 1)) * code, .zero_point = zero_point};
    strip.row_end = strip.row + chunks * DEPTHS / 2;
    widen_single(workspace, row, depth);
    return strip;
}

/* Of the weights and biases of four columns. */
static inline int32_t block_bytes(int32_t depth, int32_t weight_bytes, int32_t rescale_bytes)
{
    int32_t chunks = depth > 0 ? (depth + DEPTHS - 1) / DEPTHS : 1;
    return COLUMNS * (chunks * DEPTHS * weight_bytes + (int32_t)sizeof(int32_t) + rescale_bytes);
}

#endif
