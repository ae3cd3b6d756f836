/* One int8 row times a matrix with MVE: eight columns at a time. */
#include "vector_product.h"

/* Chunks of a turn, and bytes of the loop: the last turn's end is compared and branches. */
enum { TURN = 4, LOOP_CODE = TURN * CHUNK_CODE + 6 };

/* Operands of the assembly, which copies the first 16 bytes to its stack frame. */
struct row {
    const int8_t *lhs;
    int32_t one;
    int32_t first; /* entry point of the first block, in bytes from the loop's start */
    int32_t left;  /* columns of the last block */
    int32_t zero_point;
    int32_t entry; /* of other blocks, whose first chunks are multiplied already; r5 */
    const int8_t *weights;
    const int8_t *end; /* of lhs; r9 */
    int8_t *out;
    int8_t *last; /* where the last block's outputs go; r11 */
};
_Static_assert(offsetof(struct row, zero_point) == 16 && offsetof(struct row, out) == 32, "used in assembly");

void cm_mve_multiply_row(const struct row *row);
/* clang-format off */
/* The sums of a block in q0 and q1, the first four with their offsets; what rescales them follows. */
#define GATHER_SUMS \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vldrw.32 q2, [r1], #96\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vldrw.32 q3, [r1, #-64]\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vadd.i32 q0, q0, q2\n" \
    "vldrw.32 q2, [r1, #-80]\n" \
    "vmov q1[3], q1[1], r10, lr\n"

__asm(CM_ASM_FUNCTION(cm_mve_multiply_row)
      "push {r4-r11, lr}\n"
      "vpush {d8-d15}\n"
      "sub sp, #16\n"
      "vldrw.32 q0, [r0]\n"
      "vstrw.32 q0, [sp]\n"
      "ldr r3, [r0]\n"
      "ldrd r2, r5, [r0, #16]\n"
      "vdup.16 q4, r2\n"
      "adr.w r1, 2f + 1\n" /* Thumb */
      "ldr r2, [r0, #8]\n"
      "add r5, r1\n"
      "add r2, r1\n"
      "str r2, [sp, #8]\n"
      "ldrd r1, r9, [r0, #24]\n"
      "ldrd r7, r11, [r0, #32]\n"
      "movs r0, #0\n"
      "movs r2, #0\n"
      "movs r4, #0\n"
      "movs r6, #0\n"
      "mov r8, r0\n"
      "mov r10, r0\n"
      "mov r12, r0\n"
      "mov lr, r0\n"
      "ldr pc, [sp, #8]\n"

      ".p2align 2\n"
      "2:\n"
      MULTIPLY("vmladava.s8", "")
      MULTIPLY("vmladava.s8", "")
      MULTIPLY("vmladava.s8", "")
      MULTIPLY("vmladava.s8", "cmp r3, r9\n")
      "bne.w 2b\n"

      "cmp r7, r11\n"
      "beq 3f\n"
      /* The end of a block between products of the next one's first chunk. */
      GATHER_SUMS
      "ldrd r3, r4, [sp]\n"
      "vldrb.8 q5, [r3], #16\n"
      "vqrdmulh.s32 q0, q0, q3\n"
      "vadd.i32 q1, q1, q2\n"
      "vldrw.32 q3, [r1, #-48]\n"
      "vldrw.32 q6, [r1, #16]\n"
      "vmladav.s8 r8, q5, q6\n"
      "vqdmlah.s32 q0, q0, r4\n"
      "vldrw.32 q2, [r1, #-32]\n"
      "vqrdmulh.s32 q1, q1, q3\n"
      "vldrw.32 q7, [r1, #32]\n"
      "vmladav.s8 r2, q5, q7\n"
      "vrshl.s32 q0, q0, q2\n"
      "vldrw.32 q3, [r1, #-16]\n"
      "vqdmlah.s32 q1, q1, r4\n"
      "vldrw.32 q6, [r1], #128\n"
      "vmladav.s8 r0, q5, q6\n"
      "vqmovnb.s32 q0, q0\n"
      "vldrw.32 q7, [r1, #-80]\n"
      "vmladav.s8 r10, q5, q7\n"
      "vrshl.s32 q1, q1, q3\n"
      "vldrw.32 q6, [r1, #-64]\n"
      "vmladav.s8 r4, q5, q6\n"
      "vqmovnt.s32 q0, q1\n"
      "vldrw.32 q7, [r1, #-48]\n"
      "vmladav.s8 r12, q5, q7\n"
      "vqadd.s16 q0, q0, q4\n"
      "vldrw.32 q6, [r1, #-32]\n"
      "vmladav.s8 r6, q5, q6\n"
      "vqmovnb.s16 q0, q0\n"
      "vldrw.32 q7, [r1, #-16]\n"
      "vmladav.s8 lr, q5, q7\n"
      "vstrb.16 q0, [r7], #8\n"
      "bx r5\n"

      "3:\n"
      GATHER_SUMS
      "ldr r4, [sp, #4]\n"
      RESCALE_BY_SHIFTS
      "ldr r0, [sp, #12]\n"
      "vqadd.s16 q0, q0, q4\n"
      "vctp.16 r0\n"
      "vqmovnb.s16 q0, q0\n"
      "vpst\n"
      "vstrbt.16 q0, [r7]\n"
      "add sp, #16\n"
      "vpop {d8-d15}\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);

#define FINISH_GENERAL \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    RESCALE_GENERAL

VECTOR_FUNCTION(cm_mve_multiply_vector_general, MULTIPLY, FINISH_GENERAL);
/* clang-format on */

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    if (gemm->rows != 1 || gemm->columns <= 0)
        return;
    const int32_t before = (gemm->columns - 1) & -COLUMNS; /* columns before the last block */
    const int32_t chunks = chunks_of(gemm->depth);
    const struct row row = {
        .lhs = gemm->lhs,
        .one = 1,
        .first = (-chunks & (TURN - 1)) * CHUNK_CODE,
        .left = gemm->columns - before,
        .zero_point = gemm->output.zero_point,
        .entry = chunks == 1 ? LOOP_CODE : ((1 - chunks) & (TURN - 1)) * CHUNK_CODE,
        .weights = gemm->weights,
        .end = (const int8_t *)gemm->lhs + chunks * CHUNK,
        .out = gemm->out,
        .last = (int8_t *)gemm->out + before,
    };
    cm_mve_multiply_row(&row);
}

void cm_isa_gemv_s8_general(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_vector_general);
}
