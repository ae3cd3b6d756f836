/* Loops of the 3x3 depthwise convolution with the DSP extension, by stride and rounding.

   SMLAD multiplies two rows of a column at once. Two columns and two rows of outputs share the loads;
   assembly, because the weights of a channel, the sums and a column need all fourteen registers. */
#ifndef DEPTHWISE_LOOPS_H
#define DEPTHWISE_LOOPS_H

#include "cmrt/assembly.h"

#include <stdint.h>

/* Weights of rows 0 and 1, and 1 and 2, of the three columns; for the rescaling see gemm_s8.c. */
struct filter {
    int32_t upper[3], lower[3];
    int32_t bias, multiplier, factor;
};

/* Output columns of a band, all differences from what comes before; an even number where a loop says so. */
struct segment {
    int32_t columns, out; /* bytes from the columns and outputs that would come next */
    int32_t length;       /* bytes of columns */
    int32_t next_row; /* from the first row of outputs to the second, 0 without one; or as depthwise_apart.h
                         says */
};

/* Operands of the assembly. */
struct run {
    const struct filter *filters, *filters_end;
    int32_t step; /* from an output column to the next */
    int32_t zero_point;
    const struct segment *segments, *segments_end; /* of each channel */
    uint32_t columns, out;                         /* what the channel before would leave */
};

/* clang-format off */
/* Wide instructions, where narrow ones would do, keep what follows on words, which a Cortex-M4 fetches in time. */
#define LOAD_COLUMN(top, bottom) \
    "ldr r12, [r6, #" bottom "]\n" \
    "ldr.w r7, [r6, #" top "]\n"

/* Two columns and the bias at once, as the last two sums have not begun. */
#define LOAD_FIRST_COLUMNS \
    "ldr lr, [sp, #32]\n" \
    "ldr r11, [r6, #16]\n" \
    "ldr r10, [r6]\n" \
    LOAD_COLUMN("32", "48")

/* A column's products in the sums of two rows of outputs. */
#define START_ROWS(sum0, sum1, top, bottom, upper, lower) \
    "smlad " sum1 ", " bottom ", " lower ", lr\n" \
    "smlad " sum0 ", " top ", " upper ", lr\n" \
    "smlatb " sum1 ", " top ", " upper ", " sum1 "\n" \
    "smlabt " sum0 ", " bottom ", " lower ", " sum0 "\n"

#define ADD_ROWS(sum0, sum1, upper, lower) \
    "smlad " sum1 ", r12, " lower ", " sum1 "\n" \
    "smlad " sum0 ", r7, " upper ", " sum0 "\n" \
    "smlatb " sum1 ", r7, " upper ", " sum1 "\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n"

/* A column with stride 2, whose last row is in lr, and its products; the bias is in r11, which is the last sum
   to begin. */
#define LOAD_LONG_COLUMN(top, middle, bottom) \
    "ldr r7, [r6, #" top "]\n" \
    "ldr r12, [r6, #" middle "]\n" \
    "ldr lr, [r6, #" bottom "]\n"

#define START_ROWS_APART(sum0, sum1, upper, lower) \
    "smlad " sum0 ", r7, " upper ", r11\n" \
    "smlad " sum1 ", r12, " upper ", r11\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n" \
    "smlabt " sum1 ", lr, " lower ", " sum1 "\n"

#define ADD_ROWS_APART(sum0, sum1, upper, lower) \
    "smlad " sum0 ", r7, " upper ", " sum0 "\n" \
    "smlad " sum1 ", r12, " upper ", " sum1 "\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n" \
    "smlabt " sum1 ", lr, " lower ", " sum1 "\n"

/* The same for one row; the bias is in lr. */
#define START_ROW(sum, upper, lower) \
    "smlabt " sum ", r12, " lower ", lr\n" \
    "smlad " sum ", r7, " upper ", " sum "\n"

#define ADD_ROW(sum, upper, lower) \
    "smlabt " sum ", r12, " lower ", " sum "\n" \
    "smlad " sum ", r7, " upper ", " sum "\n"

#define SCALE(sum) "smmlar " sum ", " sum ", lr, " sum "\n"
#define EITHER_WAY(sum) ""
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum) "smmlar " sum ", " sum ", r7, r12\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"
#define LOAD_MULTIPLIER "ldr lr, [sp, #36]\n"
#define LOAD_FACTOR "ldr.w r7, [sp, #40]\n" "ldr r12, [sp, #12]\n"

/* Rescales two columns of two rows, for clamping all negative results to the zero point, or for any. */
#define RESCALE_HALF_UP \
    SCALE("r8") SCALE("r9") SCALE("r10") SHIFT("r8") SCALE("r11") SHIFT("r9") SHIFT("r10") SATURATE("r8") \
    SHIFT("r11") SATURATE("r9") SATURATE("r10")
#define RESCALE_RIGHT \
    SCALE("r8") SCALE("r9") AWAY_FROM_ZERO("r8") SCALE("r10") AWAY_FROM_ZERO("r9") SCALE("r11") \
    AWAY_FROM_ZERO("r10") SHIFT("r8") AWAY_FROM_ZERO("r11") SHIFT("r9") SHIFT("r10") SATURATE("r8") \
    SHIFT("r11") SATURATE("r9") SATURATE("r10")

/* Stores them. The second row is stored first: without one, next_row is 0. */
#define OUTPUT_FOUR(RESCALE) \
    LOAD_FACTOR \
    RESCALE \
    "ldr r12, [sp, #44]\n" \
    "ldr r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    "add r12, r7\n" \
    SATURATE("r11") \
    "strb r9, [r12]\n" \
    "strb r11, [r12, lr]\n" \
    "strb r8, [r7]\n" \
    "strb r10, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

/* The same for one row and any rounding. */
#define OUTPUT_TWO \
    LOAD_FACTOR \
    SCALE("r8") SCALE("r10") AWAY_FROM_ZERO("r8") AWAY_FROM_ZERO("r10") SHIFT("r8") SHIFT("r10") \
    "ldr.w r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    SATURATE("r8") SATURATE("r10") \
    "strb r8, [r7]\n" \
    "strb r10, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

/* Of a last column alone: the factor is in r10, the zero point in r11, the outputs are at r7 and r12 beyond. */
#define OUTPUT_ONE(AWAY) \
    SCALE("r8") SCALE("r9") AWAY("r8") AWAY("r9") \
    "smmlar r8, r8, r10, r11\n" \
    "smmlar r9, r9, r10, r11\n" \
    "ldr lr, [sp, #8]\n" \
    "add.w r12, r12, r7\n" \
    SATURATE("r8") SATURATE("r9") \
    "strb r9, [r12]\n" \
    "strb r8, [r7]\n"

/* With stride 1; OUTPUT rescales and stores the sums. */
#define TWO_BY_TWO(OUTPUT) \
    LOAD_FIRST_COLUMNS \
    START_ROWS("r8", "r9", "r10", "r11", "r0", "r3") \
    START_ROWS("r10", "r11", "r7", "r12", "r0", "r3") ADD_ROWS("r8", "r9", "r1", "r4") \
    LOAD_COLUMN("64", "80") \
    ADD_ROWS("r10", "r11", "r1", "r4") ADD_ROWS("r8", "r9", "r2", "r5") \
    LOAD_MULTIPLIER LOAD_COLUMN("96", "112") \
    ADD_ROWS("r10", "r11", "r2", "r5") \
    OUTPUT \
    "add r6, #64\n"

/* A last column alone. */
#define ONE_BY_TWO(OUTPUT) \
    "ldr lr, [sp, #32]\n" LOAD_COLUMN("0", "16") \
    START_ROWS("r8", "r9", "r7", "r12", "r0", "r3") \
    LOAD_COLUMN("32", "48") \
    ADD_ROWS("r8", "r9", "r1", "r4") \
    LOAD_MULTIPLIER "ldr r10, [sp, #40]\n" "ldr r11, [sp, #12]\n" LOAD_COLUMN("64", "80") \
    ADD_ROWS("r8", "r9", "r2", "r5") \
    "ldr r12, [sp, #44]\n" \
    "ldr.w r7, [sp, #24]\n" \
    OUTPUT \
    "add r7, lr\n" \
    "add r6, #32\n"

/* With stride 2. */
#define TWO_BY_TWO_APART(OUTPUT) \
    "ldr r11, [sp, #32]\n" \
    LOAD_LONG_COLUMN("0", "16", "32") \
    START_ROWS_APART("r8", "r9", "r0", "r3") \
    LOAD_LONG_COLUMN("48", "64", "80") \
    ADD_ROWS_APART("r8", "r9", "r1", "r4") \
    LOAD_LONG_COLUMN("96", "112", "128") \
    START_ROWS_APART("r10", "r11", "r0", "r3") ADD_ROWS_APART("r8", "r9", "r2", "r5") \
    LOAD_LONG_COLUMN("144", "160", "176") \
    ADD_ROWS_APART("r10", "r11", "r1", "r4") \
    LOAD_LONG_COLUMN("192", "208", "224") \
    ADD_ROWS_APART("r10", "r11", "r2", "r5") \
    LOAD_MULTIPLIER \
    OUTPUT \
    "add r6, #192\n"

/* With stride 2, a single row. */
#define TWO_APART(OUTPUT) \
    "ldr lr, [sp, #32]\n" LOAD_COLUMN("0", "16") \
    START_ROW("r8", "r0", "r3") \
    LOAD_COLUMN("32", "48") \
    ADD_ROW("r8", "r1", "r4") \
    LOAD_COLUMN("64", "80") \
    START_ROW("r10", "r0", "r3") ADD_ROW("r8", "r2", "r5") \
    LOAD_COLUMN("96", "112") \
    ADD_ROW("r10", "r1", "r4") \
    LOAD_MULTIPLIER LOAD_COLUMN("128", "144") \
    ADD_ROW("r10", "r2", "r5") \
    OUTPUT \
    "add r6, #128\n"

/* With stride 1, a single row. */
#define TWO_ALONE(OUTPUT) \
    "ldr lr, [sp, #32]\n" LOAD_COLUMN("0", "16") \
    START_ROW("r8", "r0", "r3") \
    LOAD_COLUMN("32", "48") \
    START_ROW("r10", "r0", "r3") ADD_ROW("r8", "r1", "r4") \
    LOAD_COLUMN("64", "80") \
    ADD_ROW("r10", "r1", "r4") ADD_ROW("r8", "r2", "r5") \
    LOAD_MULTIPLIER LOAD_COLUMN("96", "112") \
    ADD_ROW("r10", "r2", "r5") \
    OUTPUT \
    "add r6, #64\n"

/* Stores four columns of a row; the last one is not saturated yet. */
#define STORE_FOUR(SATURATE, STORE) \
    "ldr lr, [sp, #8]\n" \
    "ldr.w r7, [sp, #24]\n" \
    "ldr r12, [sp, #28]\n" \
    SATURATE("r11") \
    STORE " r8, [r7]\n" \
    STORE " r9, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n" \
    "cmp r6, r12\n" \
    STORE " r10, [r7]\n" \
    STORE " r11, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

/* A single row with stride 1, four columns of it. */
#define FOUR_ALONE(RESCALE, STORE) \
    "ldr lr, [sp, #32]\n" LOAD_COLUMN("0", "16") \
    START_ROW("r8", "r0", "r3") \
    LOAD_COLUMN("32", "48") \
    START_ROW("r9", "r0", "r3") ADD_ROW("r8", "r1", "r4") \
    LOAD_COLUMN("64", "80") \
    START_ROW("r10", "r0", "r3") ADD_ROW("r9", "r1", "r4") ADD_ROW("r8", "r2", "r5") \
    LOAD_COLUMN("96", "112") \
    START_ROW("r11", "r0", "r3") ADD_ROW("r10", "r1", "r4") ADD_ROW("r9", "r2", "r5") \
    LOAD_COLUMN("128", "144") \
    ADD_ROW("r11", "r1", "r4") ADD_ROW("r10", "r2", "r5") \
    LOAD_MULTIPLIER LOAD_COLUMN("160", "176") \
    ADD_ROW("r11", "r2", "r5") \
    RESCALE \
    "add r6, #128\n" \
    STORE

/* The stack frame is a struct run up to its segments; then the outputs that come next, the end of the segment's
   columns, bias, multiplier, factor, next_row, and the segment that comes next. */
#define ENTER_RUN \
    "push {r4-r11, lr}\n" \
    "sub sp, #56\n" \
    "ldm r0, {r0-r7}\n" \
    "stm sp, {r0-r5}\n" \
    "mov.w lr, r0\n"

/* After the last segment of the last channels. */
#define LEAVE_RUN \
    "ldr lr, [sp, #48]\n" \
    "ldr r8, [sp, #20]\n" \
    "cmp.w lr, r8\n" \
    "bne.w 2b\n" \
    "ldr lr, [sp]\n" \
    "ldr r8, [sp, #4]\n" \
    "cmp.w lr, r8\n" \
    "bne.w 1b\n" \
    "add sp, #56\n" \
    "pop {r4-r11, pc}\n"

/* From a channel to the next, and from a segment to the next. */
#define NEXT_CHANNEL \
    "1:\n" \
    "ldm lr!, {r0-r5}\n" \
    "ldm lr!, {r8-r10}\n" \
    "str lr, [sp]\n" \
    "str r8, [sp, #32]\n" \
    "str r9, [sp, #36]\n" \
    "str r10, [sp, #40]\n" \
    "ldr lr, [sp, #16]\n" \
    "2:\n" \
    "ldm lr!, {r8-r11}\n" \
    "str lr, [sp, #48]\n"

/* `SHORTEN` takes from r10, the bytes of a row, the columns that the loop leaves. */
#define START_COLUMNS(SHORTEN) \
    "add r6, r8\n" \
    "add r7, r9\n" \
    SHORTEN \
    "add r10, r6\n" \
    "str r7, [sp, #24]\n" \
    "str r10, [sp, #28]\n" \
    "str r11, [sp, #44]\n" \
    \
    ".p2align 2\n" \
    "3:\n"

#define END_COLUMNS \
    "ldr r12, [sp, #28]\n" \
    "str r7, [sp, #24]\n" \
    "cmp r6, r12\n"

#define RUN_FUNCTION(name, CONVOLVE) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER_RUN \
          NEXT_CHANNEL \
          START_COLUMNS("") \
          CONVOLVE \
          END_COLUMNS \
          "blo.w 3b\n" \
          LEAVE_RUN \
          CM_ASM_END)

/* With stride 1, two rows of any number of columns: their end is kept as that of all but one. TWO makes two of
   them, and compares r6 with it; LAST makes one. */
#define BAND_FUNCTION(name, TWO, LAST) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER_RUN \
          NEXT_CHANNEL \
          START_COLUMNS("sub r10, #32\n") \
          TWO \
          "blo.w 3b\n" \
          "bne.w 5f\n" \
          LAST \
          "5:\n" \
          LEAVE_RUN \
          CM_ASM_END)

/* A single row with stride 1, four columns at once: their end is kept as that of all but two. */
#define ALONE_FUNCTION(name, RESCALE, STORE, OUTPUT) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER_RUN \
          NEXT_CHANNEL \
          "add r6, r8\n" \
          "add r7, r9\n" \
          "sub r10, #64\n" \
          "add r10, r6\n" \
          "str r7, [sp, #24]\n" \
          "str r10, [sp, #28]\n" \
          "cmp r6, r10\n" \
          "beq.w 4f\n" \
          \
          ".p2align 2\n" \
          "3:\n" \
          FOUR_ALONE(RESCALE, STORE) \
          "str r7, [sp, #24]\n" \
          "blo.w 3b\n" \
          "bne.w 5f\n" \
          "4:\n" \
          TWO_ALONE(OUTPUT) \
          "5:\n" \
          LEAVE_RUN \
          CM_ASM_END)
/* clang-format on */

typedef void run_function(const struct run *run);

#endif
