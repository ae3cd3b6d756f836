/* Products of pairs of int8 rows with weights of four bits with MVE: what their loops share. A byte is
   16 * second + first of two columns, of weights from -7 to 7, and shifted right by four with rounding it is
   the second. */
#ifndef NARROW_PRODUCT_H
#define NARROW_PRODUCT_H

#include "byte_product.h"
#include "deep_loop.h"

/* The start of products. Called by assembly, which compilers of whole programs do not see. */
__attribute__((used)) void cm_mve_start_narrow_product(struct product *product, const struct cm_gemm *gemm);

/* All rows, of weights that lie behind a struct cm_nibbles. */
void cm_mve_multiply_narrow_parts(const struct cm_gemm *gemm, product_loop *loop);

/* clang-format off */
#define FIRST "vmladav.s8"
#define MORE "vmladava.s8"
#define FIRST_COLUMN "vldrw.32 q2, [r1]\n"
#define NEXT_COLUMN "vldrw.32 q2, [r1, #32]!\n"
#define PART_FIRST "sub.w r0, r0, r2, lsl #4\n"
#define PART_THIRD "sub.w r8, r8, r10, lsl #4\n"

/* 16 depths: q0, q1 of the two rows, q2 and q3 of pairs of columns. Sums of the first columns also hold
   16 times those of the second ones. SPARE and OTHER are scalar instructions that cost nothing here. */
#undef MULTIPLY_CHUNK
#undef MULTIPLY_LAST
#define MULTIPLY_CHUNK(mac, SPARE, NEXT_ROW, NEXT_COLUMN) \
    MULTIPLY_PAIRS(mac, SPARE, "", NEXT_ROW, NEXT_COLUMN)
#define MULTIPLY_LAST MULTIPLY_PAIRS(MORE, "subs r11, #0x10000\n", PART_FIRST, PART_THIRD, NEXT_PAIR)
#define MULTIPLY_PAIRS(mac, SPARE, OTHER, NEXT_ROW, NEXT_COLUMN) \
    "vldrb.8 q1, [r5], #16\n" \
    mac " r0, q0, q2\n" \
    "vrshr.s8 q3, q2, #4\n" \
    mac " r8, q1, q2\n" \
    "vldrw.32 q2, [r1, #16]\n" \
    mac " r2, q0, q3\n" \
    SPARE \
    mac " r10, q1, q3\n" \
    "vrshr.s8 q3, q2, #4\n" \
    mac " r4, q0, q2\n" \
    OTHER \
    mac " r12, q1, q2\n" \
    NEXT_COLUMN \
    mac " r6, q0, q3\n" \
    NEXT_ROW \
    mac " lr, q1, q3\n"

/* With r1 behind the first chunk. */
#define LOAD_HEAD \
    "vldrw.32 q4, [r1, #-80]\n" \
    "vldrw.32 q5, [r1, #-64]\n" \
    "vldrw.32 q6, [r1, #-48]\n"

/* Parts the sums of two columns; those of r0 and r8 are parted between the last products. */
#define PART(LOAD_ONE) \
    "sub.w r4, r4, r6, lsl #4\n" \
    JOIN_ODD_0 \
    "sub.w r12, r12, lr, lsl #4\n" \
    JOIN_EVEN_0 LOAD_ONE

/* Products alternate with what other pipes execute, in the best order that was found for the model of the
   Cortex-M55. LOAD_ZERO_POINT sets the register ZERO_POINT, which may be r2. */
#define FINISH_AND_START_BY(PARTED, ROUND, LOAD_ZERO_POINT, ZERO_POINT, AT, NEXT_COLUMN) \
    PARTED \
    ADD_BIAS("q0") \
    SCALE("q0") \
    LOAD_STEPS \
    ROUND("q0") \
    JOIN_EVEN_1 \
    SHIFT("q0") \
    JOIN_ODD_1 \
    "vldrw.32 q3, [r1, #" AT "]\n" \
    ADD_BIAS("q1") \
    SCALE("q1") \
    "add r3, r0\n" \
    ROUND("q1") \
    SHIFT("q1") \
    "add r5, r0\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmladav.s8 r0, q2, q3\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vldrb.8 q7, [r5], #16\n" \
    "vmladav.s8 r8, q7, q3\n" \
    "vrshr.s8 q3, q3, #4\n" \
    "add r7, r2\n" \
    LOAD_ZERO_POINT \
    "vmladav.s8 r10, q7, q3\n" \
    "vqadd.s16 q0, q0, " ZERO_POINT "\n" \
    "vmladav.s8 r2, q2, q3\n" \
    "vldrw.32 q3, [r1, #" AT "+16]\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s8 r4, q2, q3\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    "vmladav.s8 r12, q7, q3\n" \
    "vrshr.s8 q3, q3, #4\n" \
    NEXT_ROW \
    "vmladav.s8 r6, q2, q3\n" \
    NEXT_COLUMN \
    "vmladav.s8 lr, q7, q3\n"
#define FINISH_AND_START_AT(PARTED, ROUND, AT, NEXT_COLUMN) \
    FINISH_AND_START_BY(PARTED, ROUND, "", "r11", AT, NEXT_COLUMN)
#define FINISH_AND_START(LOAD_ONE, ROUND) FINISH_AND_START_AT(PART(LOAD_ONE), ROUND, "0", NEXT_COLUMN)
/* clang-format on */

#endif
