/* int8 matrix product without SIMD: rows in pairs, an odd last one by gemv_s8. */
#include "pair_product.h"
#include "row_output.h"

/* The first two rows. */
static void multiply_pair(const struct cm_gemm *gemm)
{
    const int32_t depth = gemm->depth, bytes = COLUMNS * ((depth + DEPTHS - 1) & -DEPTHS);
    const int8_t *lhs = gemm->lhs;
    uint32_t *rows = gemm->workspace;
    struct pair offset = widen_pair(rows, lhs, lhs + gemm->lhs_stride, depth);
    struct limits limits = limits_of(&gemm->output);
    struct pair_sums sums;
    const int32_t size = sizeof sums.lower;
    struct row_output upper = {128 * offset.upper, limits, size, 0, NULL};
    struct row_output lower = {128 * offset.lower, limits, size, gemm->out_stride, &upper};
    const uint8_t *packed = gemm->weights;
    int8_t *out = gemm->out;
    for (int32_t left = gemm->columns; left > 0; left -= COLUMNS, out += COLUMNS) {
        const struct block *block = (const struct block *)(const void *)packed;
        const uint8_t *weights = packed + sizeof *block;
        if (left < COLUMNS)
            lower.size = upper.size = left * (int32_t)sizeof *sums.lower;
        multiply_rows(&sums, rows, weights, depth, left);
        output_rows(gemm, block, sums.lower, &lower, out);
        packed = weights + bytes;
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
