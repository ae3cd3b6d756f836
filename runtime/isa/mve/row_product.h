/* One int8 row times a matrix with MVE: eight columns at a time. Registers of the assembly: r0, r8, r2, r10,
   r4, r12, r6 and lr hold the sums; r1 points to the weights, r3 to the row. */
#ifndef ROW_PRODUCT_H
#define ROW_PRODUCT_H

#include <stdint.h>

enum { CHUNK = 16, COLUMNS = 8, CHUNK_CODE = 68 };

/* Follows the weights of eight columns, 16 depths of each in turn; even columns come before odd ones. */
struct rescale {
    int32_t bias[COLUMNS], multiplier[COLUMNS], shift[COLUMNS];
};

/* clang-format off */
/* 16 depths: q0 of the row, q1 and q2 of the columns. 17 instructions of four bytes. SPARE is a scalar
   instruction that costs nothing here. */
#define MULTIPLY(mac, SPARE) \
    "vldrb.8 q0, [r3], #16\n" \
    SPARE \
    "vldrw.32 q1, [r1], #128\n" \
    mac " r0, q0, q1\n" \
    "vldrw.32 q2, [r1, #-112]\n" \
    mac " r8, q0, q2\n" \
    "vldrw.32 q1, [r1, #-96]\n" \
    mac " r2, q0, q1\n" \
    "vldrw.32 q2, [r1, #-80]\n" \
    mac " r10, q0, q2\n" \
    "vldrw.32 q1, [r1, #-64]\n" \
    mac " r4, q0, q1\n" \
    "vldrw.32 q2, [r1, #-48]\n" \
    mac " r12, q0, q2\n" \
    "vldrw.32 q1, [r1, #-32]\n" \
    mac " r6, q0, q1\n" \
    "vldrw.32 q2, [r1, #-16]\n" \
    mac " lr, q0, q2\n"

/* q4 holds zeros, to split shifts to the left from those to the right; for the rounding see product.h. */
#define RESCALE(sum) \
    "vldrw.32 q2, [r1, #48]\n" \
    "vmax.s32 q3, q2, q4\n" \
    "vmin.s32 q2, q2, q4\n" \
    "vshl.s32 " sum ", " sum ", q3\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    "vqrdmulh.s32 " sum ", " sum ", q3\n" \
    "vand q3, " sum ", q2\n" \
    "vqdmlah.s32 " sum ", q3, r4\n" \
    "vrshl.s32 " sum ", " sum ", q2\n"
/* clang-format on */

/* The loop over four chunks after the first one; its first iteration may be short. */
struct loop {
    int32_t turns;
    int32_t entry; /* entry point, in bytes from the loop's start */
};

static inline int32_t chunks_of(int32_t depth)
{
    const uint32_t at_least_one = depth > 0 ? (uint32_t)depth : 1;
    return (int32_t)((at_least_one + CHUNK - 1) / CHUNK);
}

static inline struct loop loop_over(int32_t depth)
{
    int32_t chunks = chunks_of(depth);
    int32_t turns = (chunks + 2) / 4;
    int32_t skipped = 4 * turns - (chunks - 1);
    return (struct loop){turns, turns == 0 ? 4 * CHUNK_CODE + 8 : skipped * CHUNK_CODE};
}

#endif
