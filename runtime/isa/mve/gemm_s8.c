/* int8 matrix product with MVE: two rows by four columns at a time, or four rows by two columns. */
#include "cmrt/isa.h"
#include "deep_product.h"
#include "general_product.h"
#include "shallow_product.h"

#include <arm_mve.h>

enum {
    CHUNK = 16,
    COLUMNS = 4,
    ROWS = 4, /* of shallow products, at a time */
    MOST_ROWS = 2 * 0xffff,
    /* Distances between outputs have 16 bits. */
    MOST_STRIDE = 0xffff - 3,
    MOST_STRIDE_OF_FOUR = (0xffff - 1) / 3
};

static int32_t count_chunks(const struct cm_gemm *gemm)
{
    return gemm->depth > CHUNK ? (int32_t)((uint32_t)(gemm->depth + CHUNK - 1) / CHUNK) : 1;
}

/* The loop over the chunks between the first and the last is in turns of four, or begins after these. Surplus
   columns of the last block overwrite its last one. */
void cm_mve_start_product(struct product *product, const struct cm_gemm *gemm)
{
    const int32_t chunks = count_chunks(gemm), between = chunks - 2, turns = between / 4;
    const int32_t rows = gemm->rows, lhs_stride = gemm->lhs_stride, out_stride = gemm->out_stride;
    const int32_t has_pairs = rows > 1, surplus = has_pairs ? rows % 2 : 0;
    const uint32_t last = (uint32_t)gemm->columns - 1, blocks = last / COLUMNS;
    product->weights = (const int8_t *)gemm->weights + sizeof(struct block);
    product->turns = turns;
    product->entry = (3 - between % 4) * CHUNK_CODE + (turns == 0 ? 4 * CHUNK_CODE + LOOP_END_CODE : 0);
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

/* So many pairs of columns, one of each block from the given column on, of which `width` columns count. */
static void multiply_pairs(const struct cm_gemm *gemm, shallow_loop *loop, struct shallow *shallow,
                           int8_t *out, int32_t column, int32_t pairs, uint16_t width)
{
    static const uint16_t rows[8] = {0, 0, 2, 2, 1, 1, 3, 3}; /* of lanes */
    uint16x8_t second = vandq_u16(vidupq_n_u16(0, 1), vdupq_n_u16(width - 1));
    const int8_t *block = (const int8_t *)gemm->weights + column / COLUMNS * shallow->block_bytes;
    if (pairs == 0)
        return;
    shallow->head = block + column % COLUMNS * (int32_t)sizeof(int32_t);
    shallow->weights = block + (int32_t)sizeof(struct block) + column % COLUMNS * CHUNK;
    shallow->out = out + column;
    shallow->pairs = ~pairs;
    vstrhq_u16(shallow->offsets, vmlaq_n_u16(second, vldrhq_u16(rows), (uint16_t)(shallow->out_step / ROWS)));
    cm_mve_multiply_shallow(shallow, loop);
}

/* From row `first` on: whole fours of rows, or one row, four times. */
static void multiply_fours(const struct cm_gemm *gemm, shallow_loop *loop, int32_t first, int32_t fours)
{
    int32_t chunks = count_chunks(gemm), columns = gemm->columns;
    int8_t *out = gemm->out + first * gemm->out_stride;
    struct shallow shallow = {
        .lhs = gemm->lhs + first * gemm->lhs_stride,
        .turns = fours > 0 ? fours - 1 : 0,
        .row_step = (fours > 0 ? gemm->lhs_stride : 0) - (chunks - 1) * CHUNK,
        .out_step = fours > 0 ? ROWS * gemm->out_stride : 0,
        .block_bytes = (int32_t)sizeof(struct block) + chunks * COLUMNS * CHUNK,
        .zero_point = gemm->output.zero_point,
    };
    multiply_pairs(gemm, loop, &shallow, out, 0, (columns + 2) / COLUMNS, 2);
    multiply_pairs(gemm, loop, &shallow, out, 2, columns / COLUMNS, 2);
    multiply_pairs(gemm, loop, &shallow, out, columns - 1, columns % 2, 1);
}

/* The last four rows overlap those before, if the number of rows is not a multiple of four. */
static void multiply_shallow(const struct cm_gemm *gemm, shallow_loop *loop)
{
    int32_t rows = gemm->rows;
    if (rows >= ROWS && gemm->out_stride <= MOST_STRIDE_OF_FOUR) {
        multiply_fours(gemm, loop, 0, rows / ROWS);
        if (rows % ROWS != 0)
            multiply_fours(gemm, loop, rows - ROWS, 1);
        return;
    }
    for (int32_t row = 0; row < rows; ++row)
        multiply_fours(gemm, loop, row, 0);
}

/* With the loop for so many chunks. */
static void multiply_chunks(const struct cm_gemm *gemm, shallow_loop *one, shallow_loop *two,
                            product_loop *more)
{
    int32_t chunks = count_chunks(gemm);
    if (chunks <= 2) {
        multiply_shallow(gemm, chunks == 1 ? one : two);
        return;
    }
    multiply(gemm, more);
}

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    multiply_chunks(gemm, cm_mve_multiply_16_right, cm_mve_multiply_32_right, cm_mve_multiply_right);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    multiply_chunks(gemm, cm_mve_multiply_16_half_up, cm_mve_multiply_32_half_up, cm_mve_multiply_half_up);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_general);
}
