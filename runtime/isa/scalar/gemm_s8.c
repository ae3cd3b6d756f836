/* int8 matrix product without SIMD: rows in pairs. */
#include "cmrt/isa.h"
#include "output.h"
#include "pair_product.h"
#include "row_product.h"

#include <stddef.h>

/* How the sums of a row become outputs. */
struct row_output {
    uint32_t excess;
    struct limits limits;
    int32_t size;   /* of the sums, in bytes */
    int32_t stride; /* from a row of outputs to the next */
    const struct row_output *next;
};

#if defined(__thumb__) && !defined(__thumb2__)
void cm_scalar_output_rows(const uint32_t *sums, const struct block *block, int8_t *out,
                           const struct row_output *row);
/* clang-format off */
__asm(CM_ASM_FUNCTION(cm_scalar_output_rows)
      PUSH_ALL
      "1:\n"
      "push {r0-r3}\n"
      "ldm r3!, {r4-r7}\n"
      "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n"
      "ldr r4, [r3]\n"
      "adds r4, r4, r0\n"
      "mov r12, r4\n"
      "2:\n"
      "ldm r0!, {r3}\n"
      "mov r4, r8\n"
      "subs r3, r3, r4\n"
      "ldm r1!, {r4}\n"
      "adds r3, r3, r4\n"
      OUTPUT("[r1, #12]", "[r1, #28]")
      "strb r7, [r2]\n"
      "adds r2, #1\n"
      "cmp r0, r12\n"
      "bne 2b\n"
      "pop {r0-r3}\n"
      "adds r0, #16\n"
      "ldr r4, [r3, #20]\n"
      "adds r2, r2, r4\n"
      "ldr r3, [r3, #24]\n"
      "cmp r3, #0\n"
      "bne 1b\n"
      POP_ALL
      CM_ASM_END);
/* clang-format on */
#endif

/* Outputs at the columns of a block, row by row. */
static inline void output_rows(const struct cm_gemm *gemm, const struct block *block, const uint32_t *sums,
                               const struct row_output *row, int8_t *out)
{
#if defined(__thumb__) && !defined(__thumb2__)
    if (gemm->output.rounding != CM_ROUND_GENERAL) {
        cm_scalar_output_rows(sums, block, out, row);
        return;
    }
#endif
    for (; row != NULL; out += row->stride, row = row->next, sums += COLUMNS)
        for (int32_t i = 0; i < row->size / (int32_t)sizeof *sums; ++i) {
            int32_t sum = (int32_t)(sums[i] - row->excess + (uint32_t)block->bias[i]);
            out[i] = cm_output_s8(&gemm->output, sum, block->multiplier[i], block->shift[i]);
        }
}

/* Of the columns that are left. */
static inline int32_t columns_of_block(int32_t left)
{
    return left < COLUMNS ? left : COLUMNS;
}

static void multiply_pair(const struct cm_gemm *gemm, const int8_t *lhs, int8_t *out, int32_t depth)
{
    struct pair excess = widen_pair(gemm->workspace, lhs, lhs + gemm->lhs_stride, gemm->depth);
    struct limits limits = limits_of(&gemm->output);
    struct row_output upper = {128 * excess.upper, limits, 0, 0, NULL};
    struct row_output lower = {128 * excess.lower, limits, 0, gemm->out_stride, &upper};
    const uint8_t *packed = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint8_t *weights = packed + sizeof *block;
        struct pair_sums sums;
        int32_t count = columns_of_block(gemm->columns - c);
        multiply_rows(&sums, gemm->workspace, weights, gemm->depth, count);
        lower.size = upper.size = count * (int32_t)sizeof *sums.lower;
        output_rows(gemm, block, sums.lower, &lower, out + c);
        packed = weights + COLUMNS * depth;
    }
}

static void multiply_single(const struct cm_gemm *gemm, const int8_t *lhs, int8_t *out, int32_t depth)
{
    uint32_t excess = 128 * shift_row(gemm->workspace, lhs, gemm->depth);
    struct row_output row = {excess, limits_of(&gemm->output), 0, 0, NULL};
    const uint8_t *packed = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint8_t *weights = packed + sizeof *block;
        struct sums sums = multiply(gemm->workspace, weights, depth);
        row.size = columns_of_block(gemm->columns - c) * (int32_t)sizeof *sums.column;
        output_rows(gemm, block, sums.column, &row, out + c);
        packed = weights + COLUMNS * depth;
    }
}

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    int32_t depth = (gemm->depth + DEPTHS - 1) & -DEPTHS, r = 0;
    const int8_t *lhs = gemm->lhs;
    int8_t *out = gemm->out;
    for (; r + 2 <= gemm->rows; r += 2, lhs += 2 * gemm->lhs_stride, out += 2 * gemm->out_stride)
        multiply_pair(gemm, lhs, out, depth);
    if (r < gemm->rows)
        multiply_single(gemm, lhs, out, depth);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
