/* Depthwise convolution with MVE: the loops over patches of interleaved rows, of 3x3 kernels unless a file
   defines other loads. */
#ifndef DEPTHWISE_LOOPS_H
#define DEPTHWISE_LOOPS_H

#include "cmrt/assembly.h"

#include <stddef.h>
#include <stdint.h>

enum { MOST_ROUNDS = 14 };

/* Operands of the assembly. Packed weights are a margin of zeros, then 32 bytes per channel: a zero column,
   the three columns of the kernel, a zero column, each of three rows and a zero; then bias, multiplier, and
   as bytes the shift and three zeros. */
struct patches {
    const int8_t *shifts;     /* r7 */
    int8_t *out;              /* r10: two bytes before the first channel of the outputs */
    const int8_t *columns;    /* in the workspace */
    const int8_t *shifts_end; /* of the block of channels */
    int32_t rounds;           /* of eight outputs, except the last one */
    int32_t zero_point;       /* r9 */
    int32_t next_address;     /* from the end of one channel to the start of the next */
    int32_t unused;
    /* Of each round's outputs from `out`, zero for none; the first vector is for what is stored by the first
       round of a channel, set by the assembly. */
    uint16_t offsets[1 + MOST_ROUNDS][8];
    uint16_t before[8]; /* of the last round of the channel before */
};
/* Of a PATCHES_ENTRY, for a shape and a rounding. */
typedef void patches_loop(void);

_Static_assert(offsetof(struct patches, offsets) == 32 && offsetof(struct patches, before) == 272,
               "used in assembly");

/* clang-format off */
/* The kernel, and with stride 1 also shifted by a column, by a row and by both. */
#define LOAD_KERNEL "vldrw.32 q4, [r7, #-24]\n"
#define LOAD_BY_COLUMN "vldrw.32 q5, [r7, #-28]\n"
#define LOAD_BY_ROW "vldrb.8 q6, [r7, #-25]\n"
#define LOAD_BY_BOTH "vldrb.8 q7, [r7, #-29]\n"

/* Bias, multiplier and shift. */
#define LOAD_RESCALE \
    "ldrd r1, r3, [r7, #-8]\n" \
    "ldr r5, [r7], #32\n"

/* To the next channel, or once more to the last one, as there may be nothing to read behind it. */
#define LOAD_END "ldr lr, [r12, #12]\n"
#define IS_LAST "cmp r7, lr\n"
#define LOAD_NEXT "ldr lr, [r12, #24]\n"
#define STAY_AT_LAST \
    "itt eq\n" \
    "subeq r7, #32\n" \
    "subeq lr, #4\n"
#define NEXT_PATCHES "vadd.i32 q3, q3, lr\n"
#define NEXT_OUTPUTS "add r10, #1\n" /* those of the round before are stored */

#define GATHER(patch) "vldrw.u32 " patch ", [q3, #128]!\n"
#define MULTIPLY(sum, patch, weights) "vmladav.s8 " sum ", " patch ", " weights "\n"

/* The first and third, then the second and fourth of four sums. */
#define JOIN_EVEN(sums) "vmov " sums "[2], " sums "[0], r0, r4\n"
#define JOIN_ODD(sums) "vmov " sums "[3], " sums "[1], r2, r6\n"

#define ADD_BIAS(sums) "vadd.i32 " sums ", " sums ", r1\n"
#define SCALE(sums) "vqrdmulh.s32 " sums ", " sums ", r3\n"
#define AWAY_FROM_ZERO(sums) "vqdmlah.s32 " sums ", " sums ", r8\n" /* see product.h */
#define AS_IT_IS(sums) ""
#define SHIFT(sums) "vrshl.s32 " sums ", r5\n"

#define ADD_ZERO_POINT "vqadd.s16 q1, q1, r9\n"
#define NARROW "vqmovnb.s16 q1, q1\n"
#define LOAD_OFFSETS "vldrh.16 q2, [r11], #16\n"
#define STORE \
    "vpt.i16 ne, q2, zr\n" \
    "vstrbt.16 q1, [r10, q2]\n"

/* A round makes eight outputs: the first four sums in q0, the others in q1. Rounds overlap: the first four
   sums of a round are made by the round before, and its outputs, 16 bits each in q1, are narrowed and stored
   by the round after it, be that of the same channel or of the next. SWITCH goes on to that one. The order
   keeps the pipe busy that products and moves to vectors share. */
#define START_STRIDE_1 \
    GATHER("q2") \
    LOAD_KERNEL \
    MULTIPLY("r0", "q2", "q4") LOAD_BY_COLUMN \
    MULTIPLY("r2", "q2", "q5") LOAD_BY_ROW \
    MULTIPLY("r4", "q2", "q6") LOAD_BY_BOTH \
    MULTIPLY("r6", "q2", "q7") GATHER("q2")

/* Two patches of two by two outputs. */
#define ROUND_STRIDE_1(ROUND, SWITCH) \
    JOIN_EVEN("q0") SWITCH(LOAD_END) ADD_ZERO_POINT \
    MULTIPLY("r0", "q2", "q4") SWITCH(IS_LAST) \
    JOIN_ODD("q0") SWITCH(LOAD_NEXT) \
    MULTIPLY("r4", "q2", "q6") SWITCH(STAY_AT_LAST) ADD_BIAS("q0") \
    MULTIPLY("r6", "q2", "q7") NARROW \
    MULTIPLY("r2", "q2", "q5") LOAD_OFFSETS STORE \
    JOIN_EVEN("q1") SWITCH(NEXT_PATCHES LOAD_KERNEL NEXT_OUTPUTS) GATHER("q2") \
    SCALE("q0") ROUND("q0") SWITCH(LOAD_BY_COLUMN) SHIFT("q0") \
    JOIN_ODD("q1") SWITCH(LOAD_BY_ROW) \
    MULTIPLY("r0", "q2", "q4") ADD_BIAS("q1") SWITCH(LOAD_BY_BOTH) \
    SCALE("q1") ROUND("q1") SHIFT("q1") \
    MULTIPLY("r2", "q2", "q5") \
    "vqmovnb.s32 q1, q1\n" \
    MULTIPLY("r4", "q2", "q6") \
    "vqmovnt.s32 q1, q0\n" \
    MULTIPLY("r6", "q2", "q7") GATHER("q2")

#define START_ROW \
    LOAD_KERNEL LOAD_BY_COLUMN \
    GATHER("q6") GATHER("q7") \
    MULTIPLY("r0", "q6", "q4") \
    MULTIPLY("r2", "q6", "q5") GATHER("q6") \
    MULTIPLY("r4", "q7", "q4") \
    MULTIPLY("r6", "q7", "q5") GATHER("q7")

/* Four patches of two outputs. */
#define ROUND_ROW(ROUND, SWITCH) \
    JOIN_EVEN("q0") SWITCH(LOAD_END) ADD_ZERO_POINT \
    MULTIPLY("r0", "q6", "q4") SWITCH(IS_LAST) \
    JOIN_ODD("q0") SWITCH(LOAD_NEXT) \
    MULTIPLY("r4", "q7", "q4") SWITCH(STAY_AT_LAST) ADD_BIAS("q0") \
    MULTIPLY("r2", "q6", "q5") NARROW SWITCH(NEXT_PATCHES) \
    GATHER("q6") \
    MULTIPLY("r6", "q7", "q5") LOAD_OFFSETS STORE \
    JOIN_EVEN("q1") SWITCH(LOAD_KERNEL NEXT_OUTPUTS) GATHER("q7") \
    SCALE("q0") ROUND("q0") SWITCH(LOAD_BY_COLUMN) SHIFT("q0") \
    JOIN_ODD("q1") \
    MULTIPLY("r0", "q6", "q4") ADD_BIAS("q1") \
    MULTIPLY("r2", "q6", "q5") GATHER("q6") \
    SCALE("q1") ROUND("q1") SHIFT("q1") \
    MULTIPLY("r4", "q7", "q4") \
    "vqmovnb.s32 q1, q1\n" \
    MULTIPLY("r6", "q7", "q5") \
    "vqmovnt.s32 q1, q0\n" \
    GATHER("q7")

#define START_STRIDE_2 \
    LOAD_KERNEL \
    GATHER("q5") GATHER("q6") GATHER("q7") \
    MULTIPLY("r0", "q5", "q4") GATHER("q5") \
    MULTIPLY("r2", "q6", "q4") \
    MULTIPLY("r4", "q7", "q4") \
    MULTIPLY("r6", "q5", "q4") \
    GATHER("q5") GATHER("q6")

/* Eight patches of one output. */
#define ROUND_STRIDE_2(ROUND, SWITCH) \
    JOIN_EVEN("q0") SWITCH(LOAD_END) ADD_ZERO_POINT \
    MULTIPLY("r0", "q5", "q4") NARROW SWITCH(IS_LAST LOAD_NEXT) \
    JOIN_ODD("q0") SWITCH(STAY_AT_LAST) GATHER("q7") \
    MULTIPLY("r2", "q6", "q4") LOAD_OFFSETS \
    MULTIPLY("r4", "q7", "q4") ADD_BIAS("q0") \
    SCALE("q0") ROUND("q0") GATHER("q5") \
    STORE \
    MULTIPLY("r6", "q5", "q4") SWITCH(NEXT_PATCHES LOAD_KERNEL NEXT_OUTPUTS) GATHER("q6") \
    JOIN_EVEN("q1") GATHER("q7") \
    JOIN_ODD("q1") ADD_BIAS("q1") \
    MULTIPLY("r0", "q6", "q4") GATHER("q5") \
    SCALE("q1") ROUND("q1") GATHER("q6") SHIFT("q1") \
    MULTIPLY("r6", "q6", "q4") \
    "vqmovnb.s32 q1, q1\n" \
    MULTIPLY("r2", "q7", "q4") \
    SHIFT("q0") \
    MULTIPLY("r4", "q5", "q4") GATHER("q5") \
    "vqmovnt.s32 q1, q0\n" \
    GATHER("q6")

/* What the last round of a channel does beside the others. */
#define KEEP(instructions) instructions
#define LEAVE(instructions) ""

#define ROUND_HALF_UP(ROUND, SWITCH) ROUND(AS_IT_IS, SWITCH)
#define ROUND_RIGHT(ROUND, SWITCH) ROUND(AWAY_FROM_ZERO, SWITCH)

/* All channels of a block. */
#define PATCHES_LOOP(name, START, ROUND, AN_OUTPUT) \
    patches_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          START \
          LOAD_RESCALE \
          \
          "1:\n" \
          "ldr lr, [r12, #16]\n" \
          "vstrw.32 q0, [r12, #32]\n" \
          "add r11, r12, #32\n" \
          "wls lr, lr, 3f\n" \
          "2:\n" \
          AN_OUTPUT(ROUND, LEAVE) \
          "le lr, 2b\n" \
          "3:\n" \
          AN_OUTPUT(ROUND, KEEP) \
          LOAD_RESCALE \
          "vldrw.32 q0, [r12, #272]\n" \
          "bne.w 1b\n" \
          ADD_ZERO_POINT NARROW \
          "vldrw.32 q2, [r12, #272]\n" \
          STORE \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
#define PATCHES_LOOPS(name, START, ROUND) \
    PATCHES_LOOP(cm_mve_##name##_half_up, START, ROUND, ROUND_HALF_UP); \
    PATCHES_LOOP(cm_mve_##name##_right, START, ROUND, ROUND_RIGHT)

/* Calls a loop; a step is how far GATHER advances. */
#define PATCHES_ENTRY(name, STEP) \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "mov r12, r0\n" \
          "ldrd r7, r10, [r12]\n" \
          "ldr r0, [r12, #8]\n" \
          "sub r0, #" STEP "\n" \
          "movs r2, #0\n" \
          "vidup.u32 q3, r2, #8\n" \
          "vshl.i32 q3, q3, #3\n" \
          "vadd.i32 q3, q3, r0\n" \
          "mov r8, #1\n" \
          "ldr r9, [r12, #20]\n" \
          "vmov.i32 q0, #0\n" \
          "bx r1\n" \
          CM_ASM_END)
/* clang-format on */

#endif
