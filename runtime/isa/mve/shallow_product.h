/* int8 matrix product with MVE for depths of up to 32: four rows by two columns at a time. The weights of
   both columns stay in registers for all rows, and four rows are multiplied while the sums of the four before
   are rescaled, a column in the lanes of a register. */
#ifndef SHALLOW_PRODUCT_H
#define SHALLOW_PRODUCT_H

#include "byte_product.h"

/* Two columns: their weights follow, 16 depths of each in turn; the last pair repeats an odd column. */
struct pair {
    int32_t bias[2], multiplier[2], shift[2];
};

/* Operands of the assembly, which copies them to its stack frame. */
struct shallow {
    const int8_t *lhs;   /* r3 */
    int32_t turns;       /* fours of rows after the first */
    int32_t row_step;    /* r1: from the last chunk of a row to the next row */
    int32_t out_step;    /* r12: from four rows of outputs to the next */
    uint16_t offsets[8]; /* of their outputs from `out`, both columns side by side */
    const int8_t *head;  /* of the first pair of columns */
    int32_t pair_bytes;
    int8_t *out;        /* r5: of the first pair */
    int32_t pairs;      /* of columns that are yet to begin, inverted */
    int32_t bias[2];    /* of the pair, set by the assembly */
    int32_t zero_point; /* r10 */
    const int8_t *last; /* the head of the last pair, for dense_product.h */
};
_Static_assert(offsetof(struct shallow, offsets) == 16 && offsetof(struct shallow, bias) == 48 &&
                   sizeof(struct shallow) == 64 && sizeof(struct pair) == 24,
               "used in assembly");

/* Of cm_mve_multiply_shallow, for a range of depths and a rounding. */
typedef void shallow_loop(void);

void cm_mve_multiply_shallow(const struct shallow *shallow, shallow_loop *loop);

/* clang-format off */
/* The rest of four rows, whose first two are joined in q0 and q1, and the next four up to there. r0 and r2
   are sums of a row, r4 and r6 of the row after it; r7 and r9 are the multipliers, r11 and r8 the shifts. */
#define TILE_16(LOAD_ONE, ROUND) \
    "vmov q1[3], q1[1], r2, r6\n" \
    "vldrb.8 q2, [r3]\n" \
    "vmov q0[3], q0[1], r0, r4\n" \
    "ldrd r4, r6, [sp, #48]\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vadd.i32 q1, q1, r6\n" \
    "vqrdmulh.s32 q1, q1, r9\n" \
    "vadd.i32 q0, q0, r4\n" \
    LOAD_ONE \
    "vqrdmulh.s32 q0, q0, r7\n" \
    "add r3, r1\n" \
    ROUND("q0") \
    "vldrb.8 q3, [r3]\n" \
    "vrshl.s32 q0, r11\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "add r3, r1\n" \
    ROUND("q1") \
    "vldrb.8 q2, [r3]\n" \
    "vrshl.s32 q1, r8\n" \
    "vmladav.s8 r6, q3, q5\n" \
    "vqmovnb.s32 q7, q0\n" \
    "vmladav.s8 r4, q3, q4\n" \
    "vqmovnt.s32 q7, q1\n" \
    "vmov q1[2], q1[0], r2, r6\n" \
    "add r3, r1\n" \
    "vqadd.s16 q7, q7, r10\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vqmovnb.s16 q7, q7\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vldrb.8 q3, [r3]\n" \
    "vmladav.s8 r6, q3, q5\n" \
    "vstrb.16 q7, [r5, q6]\n" \
    "vmladav.s8 r4, q3, q4\n" \
    "add r3, r1\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "add r5, r12\n"

#define TILE_32(LOAD_ONE, ROUND) \
    "vldrb.8 q2, [r3], #16\n" \
    "vmov q0[3], q0[1], r0, r4\n" \
    "vldrb.8 q3, [r3]\n" \
    "vmov q1[3], q1[1], r2, r6\n" \
    "ldrd r4, r6, [sp, #48]\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vadd.i32 q0, q0, r4\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vadd.i32 q1, q1, r6\n" \
    "vqrdmulh.s32 q1, q1, r9\n" \
    "add r3, r1\n" \
    "vqrdmulh.s32 q0, q0, r7\n" \
    LOAD_ONE \
    ROUND("q0") \
    "vldrb.8 q2, [r3], #16\n" \
    ROUND("q1") \
    "vrshl.s32 q0, r11\n" \
    "vmladava.s8 r2, q3, q7\n" \
    "vrshl.s32 q1, r8\n" \
    "vmladav.s8 r6, q2, q5\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s8 r4, q2, q4\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladava.s8 r0, q3, q6\n" \
    "vldrb.8 q3, [r3]\n" \
    "vqadd.s16 q0, q0, r10\n" \
    "vmladava.s8 r6, q3, q7\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrh.u16 q1, [sp, #16]\n" \
    "vmladava.s8 r4, q3, q6\n" \
    "vstrb.16 q0, [r5, q1]\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "add r3, r1\n" \
    "vmov q1[2], q1[0], r2, r6\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmladav.s8 r2, q2, q5\n" \
    "vldrb.8 q3, [r3]\n" \
    "vmladav.s8 r0, q2, q4\n" \
    "vmladava.s8 r2, q3, q7\n" \
    "add r3, r1\n" \
    "vmladava.s8 r0, q3, q6\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmladav.s8 r4, q2, q4\n" \
    "vldrb.8 q3, [r3]\n" \
    "vmladava.s8 r4, q3, q6\n" \
    "add r5, r12\n" \
    "vmladav.s8 r6, q2, q5\n" \
    "add r3, r1\n" \
    "vmladava.s8 r6, q3, q7\n"

#define LOAD_WEIGHTS_16 \
    "vldrw.32 q4, [lr, #24]\n" \
    "vldrw.32 q5, [lr, #40]\n" \
    "vldrh.16 q6, [sp, #16]\n"

#define LOAD_WEIGHTS_32 \
    "vldrw.32 q4, [lr, #24]\n" \
    "vldrw.32 q5, [lr, #40]\n" \
    "vldrw.32 q6, [lr, #56]\n" \
    "vldrw.32 q7, [lr, #72]\n"

/* The last rows of a pair of columns are finished while the first ones of the next pair are multiplied: for
   that turn, 1 changes the weights before and the rest behind it. The first pair begins there too: what is
   then stored is overwritten. Behind the last pair, that is multiplied once more. Flags tell the turns apart:
   greater is one within a pair, equal the last one. */
#define SHALLOW_LOOP(name, TILE, LOAD_WEIGHTS) \
    shallow_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "1:\n" \
          "ldr lr, [sp, #44]\n" \
          "ldr r3, [sp]\n" \
          "adds lr, #1\n" \
          "str lr, [sp, #44]\n" \
          "beq 2f\n" \
          "ldr lr, [sp, #32]\n" \
          LOAD_WEIGHTS \
          "2:\n" \
          "mov lr, #1\n" \
          "3:\n" \
          TILE \
          "le lr, 3b\n" \
          "bgt.w 1b\n" \
          "beq 4f\n" \
          \
          "ldrd r5, r11, [sp, #32]\n" \
          "ldrd r7, r9, [r5, #8]\n" \
          "add lr, r5, r11\n" \
          "str lr, [sp, #32]\n" \
          "ldrd r11, r8, [r5, #16]\n" \
          "ldrd r5, lr, [r5]\n" \
          "strd r5, lr, [sp, #48]\n" \
          "ldr r5, [sp, #40]\n" \
          "add lr, r5, #2\n" \
          "str lr, [sp, #40]\n" \
          "ldr lr, [sp, #4]\n" \
          "cmp lr, #0\n" \
          "bne.w 3b\n" \
          "b.w 1b\n" \
          \
          "4:\n" \
          "add sp, #64\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

__asm(CM_ASM_FUNCTION(cm_mve_multiply_shallow)
      "push {r4-r11, lr}\n"
      "vpush {d8-d15}\n"
      "sub sp, #64\n"
      "vldrw.32 q0, [r0]\n"
      "vldrw.32 q6, [r0, #16]\n"
      "vldrw.32 q2, [r0, #32]\n"
      "vldrw.32 q3, [r0, #48]\n"
      "vstrw.32 q0, [sp]\n"
      "vstrw.32 q6, [sp, #16]\n"
      "vstrw.32 q2, [sp, #32]\n"
      "vstrw.32 q3, [sp, #48]\n"
      "mov r2, r1\n"
      "ldrd r1, r12, [sp, #8]\n"
      "ldr r5, [sp, #40]\n"
      "ldr r10, [sp, #56]\n"
      "bx r2\n"
      CM_ASM_END);

SHALLOW_LOOP(cm_mve_multiply_16_half_up, TILE_16("", AS_IT_IS), LOAD_WEIGHTS_16);
SHALLOW_LOOP(cm_mve_multiply_16_right, TILE_16(LOAD_ONE, AWAY_FROM_ZERO), LOAD_WEIGHTS_16);
SHALLOW_LOOP(cm_mve_multiply_32_half_up, TILE_32("", AS_IT_IS), LOAD_WEIGHTS_32);
SHALLOW_LOOP(cm_mve_multiply_32_right, TILE_32(LOAD_ONE, AWAY_FROM_ZERO), LOAD_WEIGHTS_32);
/* clang-format on */

#endif
