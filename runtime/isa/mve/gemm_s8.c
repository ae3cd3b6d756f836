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

/* Of a block of which `columns` columns are left: the surplus ones of the last block overwrite its last one.
   The second row's outputs are `stride` bytes behind the first's. */
static void set_offsets(uint16_t offsets[8], int32_t columns, int32_t stride)
{
    uint16x8_t lane = vidupq_n_u16(0, 1);
    uint16x8_t column = vminq_u16(vshrq_n_u16(lane, 1), vdupq_n_u16((uint16_t)(columns - 1)));
    uint16x8_t second_row = vandq_u16(lane, vdupq_n_u16(1));
    vstrhq_u16(offsets, vmlaq_n_u16(column, second_row, (uint16_t)stride));
}

/* What runs, its turns and entry, and the bytes of a row that it steps over. */
struct loop {
    product_loop *run;
    int32_t turns, entry, step;
};

static int32_t count_chunks(const struct cm_gemm *gemm)
{
    return gemm->depth > CHUNK ? (gemm->depth + CHUNK - 1) / CHUNK : 1;
}

/* Over the chunks between the first and the last: in turns of four, or where they begin after these. */
static struct loop loop_between(product_loop *run, int32_t chunks)
{
    int32_t between = chunks - 2, turns = between <= 3 ? 0 : between / 4;
    int32_t skipped = turns == 0 ? 4 + 3 - between : turns * 4 - (between - 3);
    return (struct loop){run, turns, skipped * CHUNK_CODE + (turns == 0 ? LOOP_END_CODE : 0), chunks * CHUNK};
}

/* At most MOST_ROWS rows. */
static void multiply_rows(const struct cm_gemm *gemm, const struct loop *loop, const int8_t *lhs, int8_t *out,
                          int32_t rows)
{
    struct product product;
    int32_t has_pairs = rows > 1, odd = has_pairs && rows % 2 != 0;
    int32_t second_row = has_pairs ? gemm->out_stride : 0;
    product.weights = (const int8_t *)gemm->weights + sizeof(struct block);
    product.block_bytes = (int32_t)sizeof(struct block) + count_chunks(gemm) * COLUMNS * CHUNK;
    product.blocks = (gemm->columns - 1) / COLUMNS;
    product.turns = loop->turns;
    product.entry = loop->entry;
    product.rewind = 2 * gemm->lhs_stride - loop->step;
    product.lhs[0] = lhs - product.rewind;
    product.lhs[1] = product.lhs[0] + (has_pairs ? gemm->lhs_stride : 0);
    product.pending = product.lhs_back = odd ? gemm->lhs_stride : 0;
    product.out_step = 2 * gemm->out_stride;
    product.out = out - product.out_step;
    product.out_back = gemm->out_stride;
    product.counter = (uint32_t)(has_pairs ? rows / 2 - 1 : 0) << 16 | (uint16_t)gemm->output.zero_point;
    product.minimum = gemm->output.minimum;
    product.maximum = gemm->output.maximum;
    set_offsets(product.offsets, gemm->columns, second_row);
    set_offsets(product.last_offsets, gemm->columns - product.blocks * COLUMNS, second_row);
    cm_mve_multiply(&product, loop->run);
}

static void multiply(const struct cm_gemm *gemm, const struct loop *loop)
{
    int32_t most = gemm->out_stride <= MOST_STRIDE ? MOST_ROWS : 1;
    const int8_t *lhs = gemm->lhs;
    int8_t *out = gemm->out;
    for (int32_t left = gemm->rows; left > 0; left -= most) {
        multiply_rows(gemm, loop, lhs, out, left < most ? left : most);
        lhs += most * gemm->lhs_stride;
        out += most * gemm->out_stride;
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
    struct loop loop = loop_between(more, chunks);
    multiply(gemm, &loop);
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
    int32_t chunks = count_chunks(gemm);
    multiply(gemm, &(struct loop){cm_mve_multiply_general, .turns = chunks, .step = chunks * CHUNK});
}
