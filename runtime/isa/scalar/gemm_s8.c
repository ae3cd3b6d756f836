/* int8 matrix product without SIMD: rows in pairs, an odd last one by gemv_s8. */
#include "pair_product.h"
#include "row_output.h"

/* The first two rows. */
static void multiply_pair(const struct cm_gemm *gemm)
{
    int32_t depth = (gemm->depth + DEPTHS - 1) & -DEPTHS;
    const int8_t *lhs = gemm->lhs;
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
        output_rows(gemm, block, sums.lower, &lower, gemm->out + c);
        packed = weights + COLUMNS * depth;
    }
}

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    struct cm_gemm left = *gemm;
    for (; left.rows > 1; left.rows -= 2) {
        multiply_pair(&left);
        left.lhs += 2 * left.lhs_stride;
        left.out += 2 * left.out_stride;
    }
    if (left.rows > 0)
        cm_isa_gemv_s8(&left);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8(gemm);
}
