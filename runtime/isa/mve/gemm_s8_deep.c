/* int8 matrix product with MVE for depths of more than 32: two rows by four columns at a time. */
#include "cmrt/isa.h"
#include "deep_product.h"

#include <arm_mve.h>

/* clang-format off */
/* Where loops of gemm_s8_dense.c leave a block. */
#define END_BLOCK \
    ".global cm_mve_end_block_half_up\n" \
    ".type cm_mve_end_block_half_up,%function\n" \
    ".thumb_func\n" \
    "cm_mve_end_block_half_up:\n"

DEEP_LOOP_FROM(cm_mve_multiply_half_up, HALF_UP, "", "", END_BLOCK);
DEEP_LOOP(cm_mve_multiply_right, RIGHT);
PRODUCT_ENTRY(cm_mve_multiply, cm_mve_start_product);
/* clang-format on */

static int32_t count_chunks(const struct cm_gemm *gemm)
{
    return gemm->depth > CHUNK ? (int32_t)((uint32_t)(gemm->depth + CHUNK - 1) / CHUNK) : 1;
}

/* Surplus columns of the last block overwrite its last one. */
void cm_mve_start_product(struct product *product, const struct cm_gemm *gemm)
{
    const int32_t chunks = count_chunks(gemm);
    const int32_t rows = gemm->rows, lhs_stride = gemm->lhs_stride, out_stride = gemm->out_stride;
    const int32_t has_pairs = rows > 1, surplus = has_pairs ? rows % 2 : 0;
    const uint32_t last = (uint32_t)gemm->columns - 1, blocks = last / COLUMNS;
    product->weights = (const int8_t *)gemm->weights + sizeof(struct block);
    product->between = chunks - 2;
    product->rewind = 2 * lhs_stride - chunks * CHUNK;
    product->out_step = 2 * out_stride;
    product->pending = product->lhs_back = surplus != 0 ? lhs_stride : 0;
    product->out_back = out_stride;
    product->out_rewind = COLUMNS - (has_pairs ? rows : 2) * out_stride;
    product->block_bytes = (int32_t)sizeof(struct block) + chunks * COLUMNS * CHUNK;
    product->last = product->weights + (int32_t)blocks * product->block_bytes;
    product->counter = (uint32_t)(has_pairs ? rows / 2 - 1 : 0) << 16 | (uint16_t)gemm->output.zero_point;
    product->out = gemm->out - product->out_step;
    product->lhs[0] = gemm->lhs - product->rewind;
    product->lhs[1] = product->lhs[0] + (has_pairs ? lhs_stride : 0);
    product->minimum = gemm->output.minimum;
    product->maximum = gemm->output.maximum;
    /* Both rows of a column side by side. */
    const uint16x8_t lane = vidupq_n_u16(0, 1), column = vshrq_n_u16(lane, 1);
    const uint16x8_t second =
        vmulq_n_u16(vsubq_u16(lane, vaddq_u16(column, column)), (uint16_t)(has_pairs ? out_stride : 0));
    const uint16x8_t last_columns = vminq_u16(column, vdupq_n_u16((uint16_t)(last % COLUMNS)));
    vstrhq_u16(product->last_offsets, vaddq_u16(last_columns, second));
    vstrhq_u16(product->offsets, vaddq_u16(blocks > 0 ? column : last_columns, second));
}

__attribute__((noinline)) void cm_mve_multiply_parts(const struct cm_gemm *gemm,
                                                     void (*multiply)(const struct cm_gemm *, product_loop *),
                                                     product_loop *loop)
{
    enum { MOST_ROWS = 2 * 0xffff, MOST_STRIDE = 0xffff - 7 /* distances between outputs have 16 bits */ };
    const int32_t most = gemm->out_stride <= MOST_STRIDE ? MOST_ROWS : 1;
    if (gemm->rows <= most) {
        multiply(gemm, loop);
        return;
    }
    struct cm_gemm part = *gemm;
    for (int32_t left = gemm->rows; left > 0; left -= most) {
        part.rows = left < most ? left : most;
        multiply(&part, loop);
        part.lhs += most * gemm->lhs_stride;
        part.out += most * gemm->out_stride;
    }
}

void cm_isa_gemm_s8_deep(const struct cm_gemm *gemm)
{
    multiply_deep(gemm, cm_mve_multiply_right);
}

void cm_isa_gemm_s8_deep_half_up(const struct cm_gemm *gemm)
{
    multiply_deep(gemm, cm_mve_multiply_half_up);
}
