/* int8 matrix product of windows whose first or last rows lie in the padding, in plain C: what the one of
   Helium is tested against. Plans for other cores do not call it. */
#include "cmrt/isa.h"
#include "row_product.h"

/* The sum of a column's products with a row, before the bias. */
static uint32_t sum_products(const struct cm_cut_gemm *gemm, const int8_t *row, const uint8_t *weights)
{
    uint32_t sum = 0;
    for (int32_t k = 0; k < gemm->product.depth; ++k) {
        const int32_t at = k % gemm->part - gemm->first;
        const bool is_left = at >= 0 && at < gemm->left;
        const int32_t raised = (is_left ? *row++ : gemm->padding) + 128;
        sum += (uint32_t)(raised * (weights[k * COLUMNS] - 128));
    }
    return sum;
}

void cm_isa_gemm_s8_cut(const struct cm_cut_gemm *gemm)
{
    const struct cm_gemm *const product = &gemm->product;
    const int32_t bytes = COLUMNS * ((product->depth + DEPTHS - 1) & -DEPTHS);
    for (int32_t c = 0; c < product->columns; ++c) {
        const uint8_t *const packed =
            (const uint8_t *)product->weights + c / COLUMNS * ((int32_t)sizeof(struct block) + bytes);
        const struct block *const block = (const struct block *)(const void *)packed;
        const int32_t column = c % COLUMNS;
        for (int32_t r = 0; r < product->rows; ++r) {
            const uint32_t sum =
                sum_products(gemm, product->lhs + r * product->lhs_stride, packed + sizeof *block + column);
            product->out[r * product->out_stride + c] =
                cm_output_s8(&product->output, (int32_t)((uint32_t)block->bias[column] + sum),
                             block->multiplier[column], block->shift[column]);
        }
    }
}
