/* int8 matrix product without SIMD: rows in pairs. */
#include "cmrt/isa.h"
#include "output.h"
#include "pair_product.h"
#include "row_product.h"

#if defined(__thumb__) && !defined(__thumb2__)
/* What the outputs of a row at a block have in common. */
struct row_output {
    uint32_t excess;
    struct limits limits;
    const uint32_t *sums_end;
};

void cm_scalar_output_row(const uint32_t *sums, const struct block *block, int8_t *out,
                          const struct row_output *output);
/* clang-format off */
__asm(CM_ASM_FUNCTION(cm_scalar_output_row)
      PUSH_ALL
      "ldm r3, {r3-r7}\n"
      "mov r8, r3\n" "mov r9, r4\n" "mov r10, r5\n" "mov r11, r6\n" "mov r12, r7\n"
      "1:\n"
      "ldm r0!, {r3}\n"
      "mov r4, r8\n"
      "subs r3, r3, r4\n"
      "ldm r1!, {r4}\n"
      "adds r3, r3, r4\n"
      OUTPUT("[r1, #12]", "[r1, #28]")
      "strb r7, [r2]\n"
      "adds r2, #1\n"
      "cmp r0, r12\n"
      "bne 1b\n"
      POP_ALL
      CM_ASM_END);
/* clang-format on */
#endif

/* Outputs of a row at the columns of a block. */
static inline void output_row(const struct cm_gemm *gemm, const struct block *block, const uint32_t *sums,
                              uint32_t excess, int8_t *out, int32_t count)
{
#if defined(__thumb__) && !defined(__thumb2__)
    if (gemm->output.rounding != CM_ROUND_GENERAL) {
        struct row_output output = {excess, limits_of(&gemm->output), sums + count};
        cm_scalar_output_row(sums, block, out, &output);
        return;
    }
#endif
    for (int32_t i = 0; i < count; ++i) {
        int32_t sum = (int32_t)(sums[i] - excess + (uint32_t)block->bias[i]);
        out[i] = cm_output_s8(&gemm->output, sum, block->multiplier[i], block->shift[i]);
    }
}

static void multiply_pair(const struct cm_gemm *gemm, const int8_t *lhs, int8_t *out, int32_t depth)
{
    struct pair excess = widen_pair(gemm->workspace, lhs, lhs + gemm->lhs_stride, gemm->depth);
    const uint8_t *packed = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint8_t *weights = packed + sizeof *block;
        struct pair_sums sums;
        multiply_rows(&sums, gemm->workspace, weights, depth);
        int32_t count = gemm->columns - c < COLUMNS ? gemm->columns - c : COLUMNS;
        for (int32_t i = 0; i < COLUMNS; ++i)
            sums.both[i] -= sums.upper[i] << 16;
        output_row(gemm, block, sums.both, 128 * excess.lower, out + c, count);
        output_row(gemm, block, sums.upper, 128 * excess.upper, out + c + gemm->out_stride, count);
        packed = weights + COLUMNS * depth;
    }
}

static void multiply_single(const struct cm_gemm *gemm, const int8_t *lhs, int8_t *out, int32_t depth)
{
    uint32_t excess = 128 * shift_row(gemm->workspace, lhs, gemm->depth);
    const uint8_t *packed = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint8_t *weights = packed + sizeof *block;
        struct sums sums = multiply(gemm->workspace, weights, depth);
        int32_t count = gemm->columns - c < COLUMNS ? gemm->columns - c : COLUMNS;
        output_row(gemm, block, sums.column, excess, out + c, count);
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
