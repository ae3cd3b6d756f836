/* 3x3 depthwise convolution with stride_width 2 and the DSP extension: one row of outputs at a time.

   Of its three rows, a word is the first two in a column, or two columns of the third one: with those of the
   kernel's last column alone, five SMLAD make the nine products of an output. So a row shares nothing with
   the one after it, and takes as long in a stream, where rows come one by one, as in a whole image. */
#ifndef DEPTHWISE_APART_H
#define DEPTHWISE_APART_H

#include "cmrt/taps.h"
#include "depthwise_loops.h"
#include "interleave.h"
#include "simd.h"

#include <string.h>

/* Weights of rows 0 and 1 in the three columns; of row 2 in the first two, and in the last one. */
struct apart_filter {
    int32_t upper[3], lower[2];
    int32_t bias, multiplier, factor;
};

/* clang-format off */
/* Four outputs, of nine columns at r6 and five pairs of them of the last row at r5. The sums are r8 to r11; the last
   two hold columns until they begin. Wide loads keep what follows on words, which a Cortex-M4 fetches in time. */
#define FOUR_OUTPUTS_APART(RESCALE) \
    "ldr lr, [sp, #32]\n" \
    "ldr.w r7, [r6]\n" \
    "ldr r10, [r6, #32]\n" \
    "ldr r12, [r6, #16]\n" \
    "ldr r11, [r6, #48]\n" \
    "smlad r8, r7, r0, lr\n" \
    "smlad r9, r10, r0, lr\n" \
    "smlad r8, r12, r1, r8\n" \
    "smlad r9, r11, r1, r9\n" \
    "smlad r8, r10, r2, r8\n" \
    "ldr.w r7, [r6, #64]\n" \
    "ldr r12, [r6, #80]\n" \
    "ldr r11, [r6, #96]\n" \
    "smlad r10, r7, r0, lr\n" \
    "smlad r9, r7, r2, r9\n" \
    "smlad r10, r12, r1, r10\n" \
    "smlad r10, r11, r2, r10\n" \
    "smlad r11, r11, r0, lr\n" \
    "ldr.w r7, [r6, #112]\n" \
    "ldr lr, [r5]\n" \
    "ldr r12, [r6, #128]!\n" \
    "smlad r11, r7, r1, r11\n" \
    "smlad r8, lr, r3, r8\n" \
    "smlad r11, r12, r2, r11\n" \
    "ldr.w r7, [r5, #16]\n" \
    "ldr r12, [r5, #32]\n" \
    "ldr lr, [r5, #48]\n" \
    "smlad r9, r7, r3, r9\n" \
    "smlad r8, r7, r4, r8\n" \
    "smlad r10, r12, r3, r10\n" \
    "smlad r9, r12, r4, r9\n" \
    "smlad r11, lr, r3, r11\n" \
    "smlad r10, lr, r4, r10\n" \
    "ldr r12, [r5, #64]!\n" \
    LOAD_MULTIPLIER \
    "smlad r11, r12, r4, r11\n" \
    "ldr.w r7, [sp, #40]\n" \
    "ldr r12, [sp, #12]\n" \
    RESCALE \
    STORE_FOUR(SATURATE, "strb") \
    "str r7, [sp, #24]\n"

/* Two outputs, any rounding. */
#define TWO_OUTPUTS_APART \
    "ldr lr, [sp, #32]\n" \
    "ldr.w r7, [r6]\n" \
    "ldr r10, [r6, #32]\n" \
    "ldr r12, [r6, #16]\n" \
    "ldr r11, [r6, #48]\n" \
    "smlad r8, r7, r0, lr\n" \
    "smlad r9, r10, r0, lr\n" \
    "smlad r8, r12, r1, r8\n" \
    "smlad r9, r11, r1, r9\n" \
    "ldr.w r7, [r6, #64]\n" \
    "ldr r12, [r5]\n" \
    "ldr lr, [r5, #16]\n" \
    "ldr r11, [r5, #32]\n" \
    "smlad r8, r10, r2, r8\n" \
    "smlad r9, r7, r2, r9\n" \
    "smlad r8, r12, r3, r8\n" \
    "smlad r9, lr, r3, r9\n" \
    "smlad r8, lr, r4, r8\n" \
    LOAD_MULTIPLIER \
    "smlad r9, r11, r4, r9\n" \
    LOAD_FACTOR \
    SCALE("r8") SCALE("r9") AWAY_FROM_ZERO("r8") AWAY_FROM_ZERO("r9") SHIFT("r8") SHIFT("r9") \
    "ldr.w r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    SATURATE("r8") SATURATE("r9") \
    "strb r8, [r7]\n" \
    "strb r9, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

/* The stack frame is that of RUN_FUNCTION, but for the columns: they end behind two outputs more. The `next_row` of
   a segment leads from its columns to those of the last row. */
#define APART_FUNCTION(name, FOUR) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          ENTER_RUN \
          "1:\n" \
          "ldm lr!, {r0-r4, r8-r10}\n" \
          "str lr, [sp]\n" \
          "str r8, [sp, #32]\n" \
          "str r9, [sp, #36]\n" \
          "str r10, [sp, #40]\n" \
          "ldr lr, [sp, #16]\n" \
          "2:\n" \
          "ldm lr!, {r8-r11}\n" \
          "str lr, [sp, #48]\n" \
          "add r6, r8\n" \
          "add r7, r9\n" \
          "sub r10, #64\n" \
          "add r10, r6\n" \
          "add r5, r6, r11\n" \
          "str r7, [sp, #24]\n" \
          "str r10, [sp, #28]\n" \
          "cmp r6, r10\n" \
          "beq.w 4f\n" \
          \
          ".p2align 2\n" \
          "3:\n" \
          FOUR \
          "blo.w 3b\n" \
          "bne.w 5f\n" \
          "4:\n" \
          TWO_OUTPUTS_APART \
          "add r6, #64\n" \
          "5:\n" \
          LEAVE_RUN \
          CM_ASM_END)

/* clang-format on */

/* Output columns [x0, x0 + width) of some rows. In the workspace, a row is 2 * width + 1 columns of its first
   two rows, then width + 1 pairs of columns of the third one. */
struct apart_part {
    int32_t x0, width;
    struct cm_columns covered;
    int32_t pairs_before, pairs_inside; /* pairs of columns outside the image, and inside */
    int32_t left, right; /* the pair of the image's first, or last, column and one outside; or -1 */
    int32_t first_row, rows;
    const int8_t *padding;
};

enum { APART_ROWS = 4, WORD_BYTES = 4 * (int32_t)sizeof(uint32_t) };

static inline int32_t apart_words(int32_t width)
{
    return (3 * width + 2) * 4;
}

/* The pairs of columns. The second one of the last pair is not used. */
static inline void pair_columns(const struct cm_depthwise *d, struct apart_part *part)
{
    const struct cm_columns *covered = &part->covered;
    int32_t columns = 2 * part->width + 2, start = covered->before, end = d->input_width - covered->first;
    end = end < start ? start : end < columns ? end : columns;
    part->left = start < end && start % 2 != 0 ? start / 2 : -1;
    part->right = start < end && end % 2 != 0 ? end / 2 : -1;
    part->pairs_before = (start + 1) / 2;
    part->pairs_inside = end / 2 > part->pairs_before ? end / 2 - part->pairs_before : 0;
}

static __attribute__((noinline)) void fill_apart(const struct apart_part *part, uint32_t *out, int32_t count)
{
    uint32_t pair;
    memcpy(&pair, part->padding, sizeof pair);
    pair = widen_even(pair);
    for (uint32_t *end = out + count * 4; out < end; ++out)
        *out = pair;
}

/* A column of two rows, or two columns; either may be padding. */
static __attribute__((noinline)) struct cm_row_pair row_pair(const struct cm_depthwise *d,
                                                             const struct apart_part *part,
                                                             const int8_t *const *at, int32_t step,
                                                             uint32_t *out)
{
    struct cm_row_pair pair = {.out = out};
    for (int32_t i = 0; i < 2; ++i) {
        pair.at[i] = at[i] == NULL ? part->padding : at[i];
        pair.step[i] = at[i] == NULL ? 0 : step * d->channels;
    }
    return pair;
}

/* What is interleaved for each four channels: rows, pairs of columns, and pairs of a column and padding. */
struct apart_pairs {
    struct cm_row_pair rows[APART_ROWS], columns[APART_ROWS], sides[2 * APART_ROWS];
    int32_t side_count;
};

static inline const int8_t *pixel_at(const struct cm_depthwise *d, int32_t row, int32_t column)
{
    return row == CM_NO_ROW ? NULL : d->input + row + column * d->channels;
}

static inline void find_apart_row(const struct cm_depthwise *d, const struct apart_part *part, int32_t index,
                                  struct apart_pairs *pairs)
{
    const struct cm_columns *covered = &part->covered;
    const int32_t *rows = d->input_rows + (part->first_row + index) * d->stride_height;
    uint32_t *upper = (uint32_t *)d->workspace + index * apart_words(part->width);
    uint32_t *lower = upper + (2 * part->width + 1) * 4;
    fill_apart(part, upper, covered->before);
    fill_apart(part, upper + (covered->before + covered->inside) * 4, covered->after);
    int32_t end = part->pairs_before + part->pairs_inside;
    fill_apart(part, lower, part->pairs_before);
    fill_apart(part, lower + end * 4, part->width + 1 - end);
    int32_t first = covered->first + covered->before;
    const int8_t *above[] = {pixel_at(d, rows[0], first), pixel_at(d, rows[1], first)};
    pairs->rows[index] = row_pair(d, part, above, 1, upper + covered->before * 4);
    int32_t column = covered->first + 2 * part->pairs_before;
    const int8_t *inside[] = {pixel_at(d, rows[2], column), pixel_at(d, rows[2], column + 1)};
    pairs->columns[index] = row_pair(d, part, inside, 2, lower + part->pairs_before * 4);
    if (part->left >= 0) {
        const int8_t *side[] = {NULL, pixel_at(d, rows[2], covered->first + 2 * part->left + 1)};
        pairs->sides[pairs->side_count++] = row_pair(d, part, side, 2, lower + part->left * 4);
    }
    if (part->right >= 0) {
        const int8_t *side[] = {pixel_at(d, rows[2], covered->first + 2 * part->right), NULL};
        pairs->sides[pairs->side_count++] = row_pair(d, part, side, 2, lower + part->right * 4);
    }
}

/* `count` output columns of a row from column `x` of the part on. */
static inline void add_apart_segment(const struct cm_depthwise *d, const struct apart_part *part, int32_t row,
                                     int32_t x, int32_t count, struct segment *segment, struct run *run)
{
    const int32_t column_bytes = 2 * WORD_BYTES, row_bytes = apart_words(part->width) * 4;
    uint32_t columns = (uint32_t)(row * row_bytes + x * column_bytes);
    uint32_t out = (uint32_t)(d->out_rows[part->first_row + row] + (part->x0 + x) * d->channels);
    *segment = (struct segment){
        .columns = (int32_t)(columns - run->columns),
        .out = (int32_t)(out - run->out),
        .length = count * column_bytes,
        .next_row = (2 * part->width + 1 - x) * WORD_BYTES,
    };
    run->columns = columns + (uint32_t)segment->length;
    run->out = out + (uint32_t)(count * d->channels);
}

/* Of an odd number of columns, the last but one is computed twice. */
static inline int32_t find_apart_segments(const struct cm_depthwise *d, const struct apart_part *part,
                                          struct segment *segments, struct run *run)
{
    int32_t count = 0;
    for (int32_t row = 0; row < part->rows; ++row) {
        add_apart_segment(d, part, row, 0, part->width & -2, &segments[count++], run);
        if (part->width % 2 != 0)
            add_apart_segment(d, part, row, part->width - 2, 2, &segments[count++], run);
    }
    return count;
}

static inline void convolve_apart_part(const struct cm_depthwise *d, const struct apart_part *part,
                                       run_function *loop)
{
    struct apart_pairs pairs;
    pairs.side_count = 0;
    struct segment segments[2 * APART_ROWS];
    struct run run = {.step = d->channels, .zero_point = d->output.zero_point, .segments = segments};
    for (int32_t row = 0; row < part->rows; ++row)
        find_apart_row(d, part, row, &pairs);
    run.segments_end = segments + find_apart_segments(d, part, segments, &run);
    /* The first one follows the last one of the channel before. */
    run.columns -= (uint32_t)sizeof(uint32_t);
    run.out -= 1;
    segments->columns -= (int32_t)run.columns;
    segments->out -= (int32_t)run.out;
    run.columns += (uint32_t)d->workspace;
    run.out += (uint32_t)d->out;
    const struct apart_filter *filters = d->weights;
    for (int32_t left = d->channels; left > 0; left -= 4) {
        if (part->covered.inside > 0)
            cm_dsp_interleave(pairs.rows, pairs.rows + part->rows, WORD_BYTES, part->covered.inside);
        if (part->pairs_inside > 0)
            cm_dsp_interleave(pairs.columns, pairs.columns + part->rows, WORD_BYTES, part->pairs_inside);
        if (pairs.side_count > 0)
            cm_dsp_interleave(pairs.sides, pairs.sides + pairs.side_count, WORD_BYTES, 1);
        run.filters = (const void *)filters;
        filters += left < 4 ? left : 4;
        run.filters_end = (const void *)filters;
        loop(&run);
        run.out += 4;
    }
}

/* All rows, as many at once as the workspace holds. */
static inline void convolve_apart(const struct cm_depthwise *d, run_function *loop)
{
    int8_t padding[4];
    memset(padding, d->input_zero_point, sizeof padding);
    struct apart_part part = {.padding = padding};
    for (; part.x0 < d->out_width; part.x0 += part.width) {
        int32_t left = d->out_width - part.x0;
        /* At least two columns are computed at once, so the last chunk has them. */
        part.width = left <= d->chunk ? left : d->chunk - (left == d->chunk + 1);
        part.covered = cm_covered_columns(d, 3, part.x0, part.width);
        pair_columns(d, &part);
        int32_t most = part.width == d->out_width ? d->chunk / part.width : 1;
        most = most < APART_ROWS ? most : APART_ROWS;
        for (part.first_row = 0; part.first_row < d->band; part.first_row += part.rows) {
            part.rows = d->band - part.first_row;
            part.rows = part.rows < most ? part.rows : most;
            convolve_apart_part(d, &part, loop);
        }
    }
}

#endif
