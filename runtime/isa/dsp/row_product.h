/* One int8 row by four columns at a time with the DSP extension.

   The row is widened once, and the assembly needs all fourteen registers. Columns of int8 weights are in
   pairs as in gemm_s8.c: a halfword is 256 * second + 128 + first, so that SMLAD takes it as it is and the
   second weight alone is its upper byte. The sum of the row makes good for the 128. Four columns are their
   biases, four depths of each pair in turn, and what OUTPUT reads. */
#ifndef ROW_PRODUCT_H
#define ROW_PRODUCT_H

#include "cmrt/assembly.h"
#include "cortex_m7.h"
#include "simd.h"

enum { COLUMNS = 4, DEPTHS = 4, TURN = 4, PAIRED_TURN = 6, PAIRED_BYTES = 16, PAIRED_CODE = 72 };

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
#define SECOND(weights) "sxtb16 " weights ", " weights ", ror #8\n"
#define ADD(sum, row, weights) "smlad " sum ", " row ", " weights ", " sum "\n"

/* Takes 128 times the sum of the row, the word before it, off the first sum of each pair. */
#define TAKE_OFFSET_OFF "ldr r4, [lr, #-4]\n" "sub r0, r4\n" "sub r2, r4\n"

/* Four depths: 18 instructions of four bytes. */
#if IS_CORTEX_M7
/* A Cortex-M7: see gemm_s8_w16.c. Up to eight bytes behind the weights and four behind the row are read. */
#define PAIRED_PRELOAD \
    TAKE_OFFSET_OFF \
    "ldr r4, [r12]\n" \
    "ldr r5, [r12, #4]\n" \
    "ldr r8, [lr]\n"

#define MULTIPLY_PAIRED \
    "ldr.w r6, [r12, #8]\n" \
    "ldr.w r7, [r12, #12]\n" \
    ADD("r0", "r8", "r4") "ldr.w r9, [lr, #4]\n" SECOND("r4") ADD("r2", "r8", "r5") \
    SECOND("r5") ADD("r1", "r8", "r4") ADD("r3", "r8", "r5") "ldr.w r8, [lr, #8]!\n" \
    ADD("r0", "r9", "r6") "ldr.w r4, [r12, #16]!\n" SECOND("r6") ADD("r2", "r9", "r7") \
    SECOND("r7") ADD("r1", "r9", "r6") ADD("r3", "r9", "r7") "ldr.w r5, [r12, #4]\n"
#else
#define PAIRED_PRELOAD TAKE_OFFSET_OFF

/* No result is used by the instruction after; loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_PAIRED \
    "ldr.w r5, [r12, #4]\n" \
    "ldr.w r6, [r12, #8]\n" \
    "ldr.w r7, [r12, #12]\n" \
    "ldr.w r4, [r12], #16\n" \
    "ldr.w r9, [lr, #4]\n" \
    "ldr.w r8, [lr], #8\n" \
    ADD("r0", "r9", "r6") SECOND("r6") ADD("r2", "r9", "r7") SECOND("r7") \
    ADD("r0", "r8", "r4") SECOND("r4") ADD("r2", "r8", "r5") SECOND("r5") \
    ADD("r1", "r9", "r6") ADD("r3", "r9", "r7") ADD("r1", "r8", "r4") ADD("r3", "r8", "r5")
#endif

/* Leaves the sum of the first column of each pair alone, after the last turn. */
#define PART_PAIRS "sub r0, r0, r1, lsl #8\n" "sub r2, r2, r3, lsl #8\n"

#define TURN_OF_FOUR(MULTIPLY) MULTIPLY MULTIPLY MULTIPLY MULTIPLY
/* PAIRED_TURN times PAIRED_CODE bytes. */
#define PAIRED_TURNS(MULTIPLY) TURN_OF_FOUR(MULTIPLY) MULTIPLY MULTIPLY

/* PRELOAD may load r4 to r10 for the first MULTIPLY, as each one may for the next.
   OUTPUT stores r0 to r3 at [sp, #16] and leaves r12 behind the four columns and r11 as it is. At first, r10 is
   what [sp, #16] is. */
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
          "mov r10, r5\n" \
          \
          "1:\n" \
          "ldm r12!, {r0-r3}\n" \
          "ldr lr, [sp]\n" \
          PRELOAD \
          "ldr pc, [sp, #8]\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY \
          "cmp.w lr, r11\n" \
          "bne.w 2b\n" \
          OUTPUT \
          "ldr r4, [sp, #12]\n" \
          "cmp.w r12, r4\n" \
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

/* All but columns and outputs, of a row that is widened already.

   code: bytes of code for four depths; turn: fours of depths between branches. */
static inline struct strip strip_of(const uint32_t *row, int32_t depth, int32_t zero_point, int32_t code,
                                    int32_t turn)
{
    int32_t chunks = depth > 0 ? (depth + DEPTHS - 1) / DEPTHS : 1;
    struct strip strip = {
        .row = row, .entry = (turn - 1 - (chunks - 1) % turn) * code, .zero_point = zero_point};
    strip.row_end = strip.row + chunks * DEPTHS / 2;
    return strip;
}

/* The same for paired columns, of a row that is widened into the workspace, behind 128 times its sum. */
static inline struct strip paired_strip_of(void *workspace, const int8_t *row, int32_t depth,
                                           int32_t zero_point)
{
    uint32_t *const words = workspace, sum = 0;
    const int8_t *const end = row + depth;
    words[1] = words[2] = 0; /* for a depth of zero */
    for (uint32_t *out = words + 1; row < end; row += DEPTHS, out += DEPTHS / 2)
        sum = add_bytes(widen_four(out, row) ^ 0x80808080, sum);
    words[0] = 128 * (sum - 128 * (uint32_t)((depth + DEPTHS - 1) & -DEPTHS));
    return strip_of(words + 1, depth, zero_point, PAIRED_CODE, PAIRED_TURN);
}

/* Of the weights and biases of four columns.

   weight_bytes: of four depths of each. */
static inline int32_t block_bytes(int32_t depth, int32_t weight_bytes, int32_t rescale_bytes)
{
    int32_t chunks = depth > 0 ? (depth + DEPTHS - 1) / DEPTHS : 1;
    return chunks * weight_bytes + COLUMNS * ((int32_t)sizeof(int32_t) + rescale_bytes);
}

#endif
