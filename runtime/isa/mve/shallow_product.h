/* int8 matrix product with MVE for depths of up to 16: the weights of four columns stay in registers, and a
   pair of rows is multiplied while the sums of the pair before it are rescaled. */
#ifndef SHALLOW_PRODUCT_H
#define SHALLOW_PRODUCT_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"

#include <stddef.h>
#include <stdint.h>

/* Four columns: their weights follow, 16 depths of each in turn; the last block repeats the last column. */
struct block {
    int32_t bias[4], multiplier[4], shift[4];
};

/* Operands of the assembly: pairs of rows times one block. */
struct shallow {
    struct block block;
    uint16_t offsets[8]; /* of a pair's outputs from `out`: both rows of a column side by side */
    int32_t lhs_step;    /* r0, for a short while: from one pair of rows to the next */
    int32_t out_step;    /* r2 */
    int32_t one;         /* r9 */
    uint32_t counter;    /* r11: pairs, and in the low half the output's zero point */
    const int8_t *lhs[2];
    int8_t *out;
    const int8_t *weights;
    int32_t left_shift[4]; /* and block.shift holds those to the right */
    int16_t minimum[8], maximum[8];
};
_Static_assert(offsetof(struct shallow, offsets) == 48 && offsetof(struct shallow, lhs_step) == 64 &&
                   offsetof(struct shallow, left_shift) == 96,
               "used in assembly");

/* `output` is for what is not in the block. */
typedef void shallow_function(struct shallow *shallow, const struct cm_output *output);

/* clang-format off */
/* q0 and q1 are the sums of the pair before, q2 a row, q3 what the sums meet, q4 to q7 the columns. Products
   alternate with what other pipes execute. The last turn multiplies its own pair once more, as there may be
   nothing to read behind it. */
#define SHALLOW_FUNCTION(name, SHIFT_LEFT, ROUND, CLAMP) \
    shallow_function name; \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "mov r1, r0\n" \
          "ldrd r3, r5, [r1, #80]\n" \
          "ldrd r7, r10, [r1, #88]\n" \
          "ldrd r9, r11, [r1, #72]\n" \
          "ldr r2, [r1, #68]\n" \
          "vldrw.32 q4, [r10]\n" \
          "vldrw.32 q5, [r10, #16]\n" \
          "vldrw.32 q6, [r10, #32]\n" \
          "vldrw.32 q7, [r10, #48]\n" \
          "subs r7, r2\n" \
          "vldrb.8 q0, [r3]\n" \
          "vldrb.8 q1, [r5]\n" \
          "vmladav.s8 r0, q0, q4\n" \
          "vmladav.s8 r2, q0, q5\n" \
          "vmladav.s8 r4, q0, q6\n" \
          "vmladav.s8 r6, q0, q7\n" \
          "vmladav.s8 r8, q1, q4\n" \
          "vmladav.s8 r10, q1, q5\n" \
          "vmladav.s8 r12, q1, q6\n" \
          "vmladav.s8 lr, q1, q7\n" \
          "subs r11, #0x10000\n" \
          \
          ".p2align 2\n" \
          "1:\n" \
          "vmov q0[2], q0[0], r0, r4\n" \
          "vldrw.32 q3, [r1]\n" \
          "vmov q0[3], q0[1], r2, r6\n" \
          "ldrd r0, r2, [r1, #64]\n" \
          "vmov q1[2], q1[0], r8, r12\n" \
          "vadd.i32 q0, q0, q3\n" \
          "vmov q1[3], q1[1], r10, lr\n" \
          "vadd.i32 q1, q1, q3\n" \
          SHIFT_LEFT \
          "vldrw.32 q3, [r1, #16]\n" \
          "vqrdmulh.s32 q1, q1, q3\n" \
          "subs r11, #0x10000\n" \
          "vqrdmulh.s32 q0, q0, q3\n" \
          "add r7, r2\n" \
          "itt cs\n" \
          "addcs r3, r0\n" \
          "addcs r5, r0\n" \
          "vldrw.32 q3, [r1, #32]\n" \
          ROUND \
          "vrshl.s32 q1, q1, q3\n" \
          "vldrb.8 q2, [r3]\n" \
          "vmladav.s8 r6, q2, q7\n" \
          "vrshl.s32 q0, q0, q3\n" \
          "vmladav.s8 r0, q2, q4\n" \
          "vqmovnb.s32 q0, q0\n" \
          "vmladav.s8 r2, q2, q5\n" \
          "vqmovnt.s32 q0, q1\n" \
          "vmladav.s8 r4, q2, q6\n" \
          "vldrb.8 q2, [r5]\n" \
          "vmladav.s8 r10, q2, q5\n" \
          "vqadd.s16 q0, q0, r11\n" \
          CLAMP \
          "vmladav.s8 lr, q2, q7\n" \
          "vqmovnb.s16 q0, q0\n" \
          "vldrh.16 q3, [r1, #48]\n" \
          "vmladav.s8 r8, q2, q4\n" \
          "vstrb.16 q0, [r7, q3]\n" \
          "vmladav.s8 r12, q2, q6\n" \
          "bcs 1b\n" \
          \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

/* For the rounding see gemm_s8.c. */
#define SHALLOW_RIGHT \
    "vqdmlah.s32 q0, q0, r9\n" \
    "vqdmlah.s32 q1, q1, r9\n"
#define SHALLOW_SHIFT_LEFT \
    "vldrw.32 q3, [r1, #96]\n" \
    "vshl.s32 q0, q0, q3\n" \
    "vshl.s32 q1, q1, q3\n"
#define SHALLOW_ROUND(sums) \
    "vand q3, " sums ", q3\n" \
    "vqdmlah.s32 " sums ", q3, r9\n" \
    "vldrw.32 q3, [r1, #32]\n"
#define SHALLOW_CLAMP \
    "vldrh.16 q3, [r1, #112]\n" \
    "vmax.s16 q0, q0, q3\n" \
    "vldrh.16 q3, [r1, #128]\n" \
    "vmin.s16 q0, q0, q3\n"

#pragma GCC diagnostic ignored "-Woverlength-strings"
SHALLOW_FUNCTION(cm_mve_multiply_shallow_half_up, "", "", "");
SHALLOW_FUNCTION(cm_mve_multiply_shallow_right, "", SHALLOW_RIGHT, "");
SHALLOW_FUNCTION(cm_mve_multiply_shallow_general, SHALLOW_SHIFT_LEFT, SHALLOW_ROUND("q0") SHALLOW_ROUND("q1"),
                 SHALLOW_CLAMP);
/* clang-format on */

static void multiply_shallow_general(struct shallow *shallow, const struct cm_output *output)
{
    for (int32_t i = 0; i < 4; ++i) {
        int32_t shift = shallow->block.shift[i];
        shallow->left_shift[i] = shift > 0 ? shift : 0;
        shallow->block.shift[i] = shift < 0 ? shift : 0;
    }
    for (int32_t i = 0; i < 8; ++i) {
        shallow->minimum[i] = (int16_t)output->minimum;
        shallow->maximum[i] = (int16_t)output->maximum;
    }
    cm_mve_multiply_shallow_general(shallow, output);
}

#endif
