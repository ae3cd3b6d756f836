/* One long int8 row times a matrix of few columns with the DSP extension: the row is widened portion by
   portion, so that its workspace is a portion's. */
#include "vector_product.h"

#include <stdbool.h>

/* As in compiler/cmcompiler/ops/support/long_rows.py. */
enum { PORTION = 1024 };

enum { START_BYTES = COLUMNS * 4, RESCALE_BYTES = COLUMNS * sizeof(struct rescale) };

/* The loops of gemv_s8.c. */
void cm_dsp_multiply_vector(const struct strip *strip);
void cm_dsp_sum_vector(const struct strip *strip);

/* Adds a portion of four columns. The loop begins with the four words before the weights: the biases, or
   behind other portions whatever is there, which is taken off again. */
static void add_portion(uint32_t *sums, struct strip *strip, const int8_t *start, int32_t depth,
                        bool is_first)
{
    uint32_t four[COLUMNS], garbage[COLUMNS];
    strip->weights = start;
    strip->weights_end =
        start + START_BYTES + (depth + DEPTHS - 1) / DEPTHS * DEPTHS * COLUMNS + RESCALE_BYTES;
    strip->out = four;
    cm_dsp_sum_vector(strip);
    memcpy(garbage, start, sizeof garbage);
    for (int32_t i = 0; i < COLUMNS; i += 2) {
        sums[i] += four[i] - (is_first ? 0 : garbage[i] - (garbage[i + 1] << 8));
        sums[i + 1] += four[i + 1] - (is_first ? 0 : garbage[i + 1]);
    }
}

/* The sums of all columns, at the start of the workspace. */
static uint32_t *sums_of_portions(const struct cm_gemm *gemm, int32_t bytes)
{
    int32_t blocks = (gemm->columns + COLUMNS - 1) / COLUMNS;
    uint32_t *sums = gemm->workspace, *row = sums + blocks * COLUMNS;
    for (int32_t i = 0; i < blocks * COLUMNS; ++i)
        sums[i] = 0;
    for (int32_t k = 0; k < gemm->depth; k += PORTION) {
        int32_t depth = gemm->depth - k < PORTION ? gemm->depth - k : PORTION;
        struct strip strip = paired_strip_of(row, gemm->lhs + k, depth, gemm->output.zero_point);
        const int8_t *start = (const int8_t *)gemm->weights + k * COLUMNS;
        for (int32_t i = 0; i < blocks; ++i)
            add_portion(sums + i * COLUMNS, &strip, start + i * bytes, depth, k == 0);
    }
    return sums;
}

static void multiply_portions(const struct cm_gemm *gemm, bool is_general)
{
    int32_t bytes = block_bytes(gemm->depth, PAIRED_BYTES, sizeof(struct rescale));
    const uint32_t *sums = sums_of_portions(gemm, bytes);
    const int8_t *end = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += COLUMNS, sums += COLUMNS) {
        /* Columns of no depth, which only have to be rescaled, and a row of zeros. */
        struct {
            uint32_t starts[COLUMNS];
            int8_t weights[COLUMNS * DEPTHS];
            struct rescale rescale[COLUMNS];
        } block = {.starts = {sums[0] + (sums[1] << 8), sums[1], sums[2] + (sums[3] << 8), sums[3]}};
        uint32_t zeros[4] = {0};
        int8_t four[COLUMNS];
        end += bytes;
        memcpy(block.rescale, end - RESCALE_BYTES, sizeof block.rescale);
        if (is_general) {
            for (int32_t i = 0; i < COLUMNS; ++i)
                four[i] = cm_output_s8(&gemm->output, (int32_t)sums[i], block.rescale[i].multiplier,
                                       block.rescale[i].factor);
        } else {
            struct strip strip = strip_of(zeros + 1, 0, gemm->output.zero_point, PAIRED_CODE, PAIRED_TURN);
            strip.weights = &block;
            strip.weights_end = &block + 1;
            strip.out = four;
            cm_dsp_multiply_vector(&strip);
        }
        int32_t rest = gemm->columns - c;
        memcpy(gemm->out + c, four, (size_t)(rest < COLUMNS ? rest : COLUMNS));
    }
}

void cm_isa_gemv_s8_long(const struct cm_gemm *gemm)
{
    multiply_portions(gemm, false);
}

void cm_isa_gemv_s8_long_general(const struct cm_gemm *gemm)
{
    multiply_portions(gemm, true);
}
