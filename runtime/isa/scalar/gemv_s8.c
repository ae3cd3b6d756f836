/* One int8 row times a matrix without SIMD, packed as for gemm_s8. */
#include "row_output.h"

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
/* clang-format off */
/* r0: sums; r1: the block; r2: outputs; r3: the row. */
#ifdef __thumb2__
/* A column's output; loads follow each other. */
#define OUTPUT_COLUMN(sum, bias, multiplier, shift, out) \
    "ldr r3, [r0, #" sum "]\n" \
    "ldr r6, [r1, #" bias "]\n" \
    "ldr r4, [r1, #" multiplier "]\n" \
    "ldr r5, [r1, #" shift "]\n" \
    "add r3, r8\n" \
    "adds r3, r3, r6\n" \
    SCALE_AND_CLAMP \
    "strb r7, [r2, #" out "]\n"

__asm(".global cm_scalar_output_rows\n"
      CM_ASM_FUNCTION(cm_scalar_output_rows)
      PUSH_ALL
      "mov lr, r3\n"
      "1:\n"
      "ldm lr, {r8-r11}\n"
      "ldr r12, [lr, #16]\n"
      "cmp r12, #16\n"
      "bne.w 3f\n"
      OUTPUT_COLUMN("0", "0", "16", "32", "0") OUTPUT_COLUMN("4", "4", "20", "36", "1")
      OUTPUT_COLUMN("8", "8", "24", "40", "2") OUTPUT_COLUMN("12", "12", "28", "44", "3")
      "2:\n"
      "adds r0, #16\n"
      "ldr r4, [lr, #20]\n"
      "ldr lr, [lr, #24]\n"
      "add r2, r4\n"
      "cmp lr, #0\n"
      "bne.w 1b\n"
      POP_ALL
      "3:\n"
      OUTPUT_COLUMN("0", "0", "16", "32", "0")
      "adds r0, #4\n"
      "adds r1, #4\n"
      "adds r2, #1\n"
      "subs r12, #4\n"
      "bne.w 3b\n"
      "ldr r4, [lr, #16]\n"
      "subs r0, r0, r4\n"
      "subs r1, r1, r4\n"
      "sub r2, r2, r4, lsr #2\n"
      "b.w 2b\n"
      CM_ASM_END);
#else
/* The limits and the number of sums are those of the first row. */
__asm(".global cm_scalar_output_rows\n"
      CM_ASM_FUNCTION(cm_scalar_output_rows)
      PUSH_ALL
      "mov lr, r3\n"
      "ldm r3!, {r4-r7}\n"
      "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n"
      "ldr r3, [r3]\n"
      "1:\n"
      "mov r8, r4\n"
      "adds r3, r3, r0\n"
      "mov r12, r3\n"
      "2:\n"
      "ldm r0!, {r3}\n"
      "add r3, r8\n"
      "ldm r1!, {r4}\n"
      "adds r3, r3, r4\n"
      OUTPUT("[r1, #12]", "[r1, #28]")
      "strb r7, [r2]\n"
      "adds r2, #1\n"
      "cmp r0, r12\n"
      "bne 2b\n"
      "mov r7, lr\n"
      "ldr r6, [r7, #24]\n"
      "cmp r6, #0\n"
      "beq 3f\n"
      "mov lr, r6\n"
      "ldr r3, [r7, #16]\n"
      "ldr r5, [r7, #20]\n"
      "lsrs r4, r3, #2\n"
      "subs r5, r5, r4\n"
      "adds r2, r2, r5\n"
      "subs r1, r1, r3\n"
      "subs r0, r0, r3\n"
      "adds r0, #16\n"
      "ldr r4, [r6]\n"
      "b 1b\n"
      "3:\n"
      POP_ALL
      CM_ASM_END);
#endif
/* clang-format on */

void cm_scalar_output_any(const struct cm_gemm *gemm, const struct block *block, const uint32_t *sums,
                          const struct row_output *row, int8_t *out)
{
    output_any(gemm, block, sums, row, out);
}
#endif

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    const int32_t depth = (gemm->depth + DEPTHS - 1) & -DEPTHS;
    uint8_t *shifted = gemm->workspace;
    const uint32_t offset = 128 * shift_row(shifted, gemm->lhs, gemm->depth);
    struct row_output row = {offset, limits_of(&gemm->output), sizeof(struct sums), 0, NULL};
    const uint8_t *packed = gemm->weights;
    int8_t *out = gemm->out;
    for (int32_t left = gemm->columns; left > 0; left -= COLUMNS, out += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint8_t *weights = packed + sizeof *block;
        struct sums sums = multiply(shifted, weights, depth);
        if (__builtin_expect(left < COLUMNS, 0))
            row.size = left * (int32_t)sizeof *sums.column;
        output_rows(gemm, block, sums.column, &row, out);
        packed = weights + COLUMNS * depth;
    }
}

void cm_isa_gemv_s8_general(const struct cm_gemm *gemm)
{
    cm_isa_gemv_s8(gemm);
}
