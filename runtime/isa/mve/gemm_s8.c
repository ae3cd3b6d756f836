/* int8 matrix product with MVE: two rows by four columns at a time, or four rows by two columns. */
#include "cmrt/isa.h"
#include "deep_product.h"
#include "dense_product.h"
#include "general_product.h"

#include <arm_mve.h>
#include <stdbool.h>

enum {
    ROWS = 4, /* of shallow products, at a time */
    MOST_ROWS = 2 * 0xffff,
    /* Distances between outputs have 16 bits. */
    MOST_STRIDE = 0xffff - 3,
    MOST_STRIDE_OF_FOUR = (0xffff - 1) / 3
};

/* clang-format off */
product_loop cm_mve_multiply_64_half_up;
DEEP_LOOP_FROM(cm_mve_multiply_half_up, HALF_UP, "", "", LOOP_OF_64(cm_mve_multiply_64_half_up));
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

/* As many rows at once as the assembly can count, or one if they are too far apart. */
static void multiply(const struct cm_gemm *gemm, product_loop *loop)
{
    const int32_t most = gemm->out_stride <= MOST_STRIDE ? MOST_ROWS : 1;
    if (gemm->rows <= most) {
        cm_mve_multiply(gemm, loop);
        return;
    }
    struct cm_gemm part = *gemm;
    for (int32_t left = gemm->rows; left > 0; left -= most) {
        part.rows = left < most ? left : most;
        cm_mve_multiply(&part, loop);
        part.lhs += most * gemm->lhs_stride;
        part.out += most * gemm->out_stride;
    }
}

/* From row `first` on: whole fours of rows, or one row, four times. */
static void multiply_fours(const struct cm_gemm *gemm, shallow_loop *loop, int32_t first, int32_t fours)
{
    static const uint16_t rows[8] = {0, 0, 2, 2, 1, 1, 3, 3}; /* of lanes */
    const int32_t chunks = gemm->depth > CHUNK ? 2 : 1, pairs = gemm->columns / 2;
    const int32_t lhs_stride = gemm->lhs_stride, out_stride = gemm->out_stride;
    const uint16x8_t second = vandq_u16(vidupq_n_u16(0, 1), vdupq_n_u16(1));
    const uint16x8_t row = vmulq_n_u16(vldrhq_u16(rows), (uint16_t)(fours > 0 ? out_stride : 0));
    struct shallow shallow;
    shallow.lhs = gemm->lhs + first * lhs_stride;
    shallow.turns = fours > 0 ? fours - 1 : 0;
    shallow.row_step = (fours > 0 ? lhs_stride : 0) - (chunks - 1) * CHUNK;
    shallow.out_step = ROWS * out_stride;
    shallow.head = gemm->weights;
    shallow.pair_bytes = (int32_t)sizeof(struct pair) + chunks * 2 * CHUNK;
    shallow.out = gemm->out + first * out_stride;
    shallow.pairs = ~pairs;
    shallow.zero_point = gemm->output.zero_point;
    shallow.last = shallow.head + (pairs - 1) * shallow.pair_bytes;
    vstrhq_u16(shallow.offsets, vaddq_u16(row, second));
    if (pairs > 0)
        cm_mve_multiply_shallow(&shallow, loop);
    if (gemm->columns % 2 == 0)
        return;
    shallow.head += pairs * shallow.pair_bytes;
    shallow.out += 2 * pairs;
    shallow.pairs = ~1;
    shallow.last = shallow.head;
    vstrhq_u16(shallow.offsets, row);
    cm_mve_multiply_shallow(&shallow, loop);
}

/* The last four rows overlap those before, if the number of rows is not a multiple of four.

   fours, single: loops for four rows and for one. */
static void multiply_shallow(const struct cm_gemm *gemm, shallow_loop *fours, shallow_loop *single)
{
    int32_t rows = gemm->rows;
    if (rows >= ROWS && gemm->out_stride <= MOST_STRIDE_OF_FOUR) {
        multiply_fours(gemm, fours, 0, rows / ROWS);
        if (rows % ROWS != 0)
            multiply_fours(gemm, fours, rows - ROWS, 1);
        return;
    }
    for (int32_t row = 0; row < rows; ++row)
        multiply_fours(gemm, single, row, 0);
}

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    const int32_t chunks = count_chunks(gemm);
    if (chunks > 2) {
        multiply(gemm, cm_mve_multiply_right);
        return;
    }
    shallow_loop *const loop = chunks == 1 ? cm_mve_multiply_16_right : cm_mve_multiply_32_right;
    const bool is_dense = chunks == 1 && gemm->lhs_stride == CHUNK;
    multiply_shallow(gemm, is_dense ? cm_mve_multiply_16_dense_right : loop, loop);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    const int32_t chunks = count_chunks(gemm), lhs_stride = gemm->lhs_stride;
    if (chunks > 2) {
        const bool is_dense = chunks == 4 && lhs_stride == 4 * CHUNK;
        multiply(gemm, is_dense ? cm_mve_multiply_64_half_up : cm_mve_multiply_half_up);
        return;
    }
    shallow_loop *const loop = chunks == 1 ? cm_mve_multiply_16_half_up : cm_mve_multiply_32_half_up;
    shallow_loop *fours = loop;
    if (chunks == 2 && lhs_stride == 2 * CHUNK)
        fours = cm_mve_multiply_32_dense;
    else if (chunks == 1 && lhs_stride == CHUNK)
        fours = cm_mve_multiply_16_dense;
    else if (chunks == 1 && lhs_stride == CHUNK / 2)
        fours = cm_mve_multiply_8_dense;
    multiply_shallow(gemm, fours, loop);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_general);
}
