/* One int8 row times a matrix with MVE: eight columns at a time. */
#include "cmrt/isa.h"

#include <stddef.h>

enum { CHUNK = 16, COLUMNS = 8, CHUNK_CODE = 68 };

/* Follows the weights of eight columns, 16 depths of each in turn; even columns come before odd ones. */
struct rescale {
    int32_t bias[COLUMNS], multiplier[COLUMNS], shift[COLUMNS];
};

/* Operands of the assembly, which copies the first 16 bytes to its stack frame. */
struct vector {
    int32_t zero_point; /* r0 */
    int32_t one;        /* r4 */
    int32_t turns;      /* r9: of the loop over four chunks after the first */
    int32_t entry;      /* entry point, in bytes from the loop's start */
    const int8_t *weights;
    const int8_t *lhs;
    int8_t *out;
    int32_t columns;
    int16_t minimum[8], maximum[8];
};
_Static_assert(offsetof(struct vector, weights) == 16 && offsetof(struct vector, minimum) == 32,
               "used in assembly");

/* clang-format off */
/* 16 depths: q0 of the row, q1 and q2 of the columns. 17 instructions of four bytes. */
#define MULTIPLY(mac) \
    "vldrb.8 q0, [r3], #16\n" \
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

/* q4 holds zeros, to split shifts to the left from those to the right; for the rounding see gemm_s8.c. */
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

void cm_mve_multiply_vector(const struct vector *vector);
__asm(".section .text.cm_mve_multiply_vector,\"ax\",%progbits\n"
      ".syntax unified\n"
      ".thumb\n"
      ".thumb_func\n"
      ".p2align 2\n"
      ".type cm_mve_multiply_vector,%function\n"
      "cm_mve_multiply_vector:\n"
      "push {r4-r11, lr}\n"
      "vpush {d8-d13}\n"
      "sub sp, #16\n"
      "vldrw.32 q0, [r0]\n"
      "vstrw.32 q0, [sp]\n"
      "ldr r2, [r0, #12]\n"
      "adr.w r1, 2f\n"
      "add r2, r1\n"
      "add r2, #1\n" /* Thumb */
      "str r2, [sp, #12]\n"
      "vmov.i32 q4, #0\n"
      "vldrw.32 q5, [r0, #32]\n"
      "vldrw.32 q6, [r0, #48]\n"
      "ldrd r1, r5, [r0, #16]\n"
      "ldrd r7, r11, [r0, #24]\n"
      "ldr r9, [r0, #8]\n"

      "1:\n"
      "mov r3, r5\n"
      MULTIPLY("vmladav.s8")
      "ldr pc, [sp, #12]\n"
      ".p2align 2\n"
      "2:\n"
      MULTIPLY("vmladava.s8")
      MULTIPLY("vmladava.s8")
      MULTIPLY("vmladava.s8")
      MULTIPLY("vmladava.s8")
      "subs.w r9, r9, #1\n"
      "bne.w 2b\n"

      "vmov q0[2], q0[0], r0, r4\n"
      "vmov q0[3], q0[1], r2, r6\n"
      "vmov q1[2], q1[0], r8, r12\n"
      "vmov q1[3], q1[1], r10, lr\n"
      "ldm sp, {r0, r4, r9}\n"
      "vldrw.32 q2, [r1], #16\n"
      "vadd.i32 q0, q0, q2\n"
      RESCALE("q0")
      "vldrw.32 q2, [r1], #16\n"
      "vadd.i32 q1, q1, q2\n"
      RESCALE("q1")
      "add r1, #64\n"
      "vqmovnb.s32 q0, q0\n"
      "vqmovnt.s32 q0, q1\n"
      "vqadd.s16 q0, q0, r0\n"
      "vmax.s16 q0, q0, q5\n"
      "vmin.s16 q0, q0, q6\n"
      "vctp.16 r11\n"
      "vpst\n"
      "vstrbt.16 q0, [r7], #8\n"
      "subs r11, #8\n"
      "bgt.w 1b\n"
      "add sp, #16\n"
      "vpop {d8-d13}\n"
      "pop {r4-r11, pc}\n"
      ".text\n");
/* clang-format on */

static void multiply(const struct cm_gemm *gemm, struct vector *vector)
{
    int32_t chunks = gemm->depth > 0 ? (gemm->depth + CHUNK - 1) / CHUNK : 1;
    int32_t turns = (chunks + 2) / 4; /* of four chunks after the first; the first iteration may be short */
    vector->turns = turns;
    vector->entry = turns == 0 ? 4 * CHUNK_CODE + 8 : (4 * turns - (chunks - 1)) * CHUNK_CODE;
    cm_mve_multiply_vector(vector);
}

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    struct vector vector = {
        .zero_point = gemm->output.zero_point,
        .one = 1,
        .weights = gemm->weights,
        .lhs = gemm->lhs,
        .out = gemm->out,
        .columns = gemm->columns,
    };
    for (int32_t i = 0; i < 8; ++i) {
        vector.minimum[i] = (int16_t)gemm->output.minimum;
        vector.maximum[i] = (int16_t)gemm->output.maximum;
    }
    if (gemm->rows == 1 && gemm->columns > 0)
        multiply(gemm, &vector);
}
