/* 3x3 depthwise convolution with MVE: one channel at a time, its pixels in the lanes.

   Sixteen channels of up to four input rows are first interleaved in the workspace, column by column: there
   the four rows of a column of one channel are a 32-bit word, and one gather loads a patch of four columns.
   With stride 1 a patch gives two by two outputs, with weights shifted by a column and by a row, or two if a
   row is alone; with stride 2 one. Several bands of rows of a narrow image follow each other in the
   workspace, as if they were one. */
#include "depthwise_loops.h"
#include "interleave.h"

#include <arm_mve.h>

INTERLEAVE(interleave, "8")

void cm_mve_convolve_patches(const struct patches *patches, patches_loop *loop);

/* clang-format off */
PATCHES_ENTRY(cm_mve_convolve_patches, "128");
PATCHES_LOOPS(stride_1, START_STRIDE_1, ROUND_STRIDE_1);
PATCHES_LOOPS(row, START_ROW, ROUND_ROW);
PATCHES_LOOPS(stride_2, START_STRIDE_2, ROUND_STRIDE_2);
/* clang-format on */

enum {
    LANES = 16,
    ROWS = 4,
    MOST_BANDS = 4,
    COLUMN_BYTES = LANES * ROWS,
    CHANNEL_BYTES = 32,
    SHIFT_AT = 28, /* of a channel */
    MARGIN = 16,
    FARTHEST = 0xffff
};

/* The outputs of a patch, the patches of a round, and the loop for them. */
struct shape {
    int32_t rows, columns, patches;
    patches_loop *loop;
};

/* What is computed at once: output columns [x0, x0 + width) of some rows. A band is the rows that patches
   have in common; in the workspace bands are `pitch` patches apart. */
struct part {
    int32_t x0, width, first_row, rows;
    int32_t bands, pitch;
    struct cm_columns covered;
    const struct shape *shape;
};

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The patches of a row. */
static int32_t row_patches(const struct part *part)
{
    return part->shape->columns == 2 ? (part->width + 1) / 2 : part->width;
}

/* Patches from one band to the next: the padding behind a band is that before the next one. */
static int32_t band_pitch(const struct part *part)
{
    const struct cm_columns *covered = &part->covered;
    int32_t columns =
        covered->before + covered->inside + covered->after - least(covered->before, covered->after);
    int32_t pitch = (columns + 1) / 2, patches = row_patches(part);
    return pitch > patches ? pitch : patches;
}

/* The lowest of the rows' offsets, if all outputs of the part are near enough to it; else CM_NO_ROW. */
static int32_t find_base(const struct cm_depthwise *d, const struct part *part)
{
    int32_t low = d->out_rows[part->first_row], high = low;
    for (int32_t r = 1; r < part->rows; ++r) {
        int32_t offset = d->out_rows[part->first_row + r];
        low = offset < low ? offset : low;
        high = offset > high ? offset : high;
    }
    return high - low < FARTHEST - part->width * d->channels ? low : CM_NO_ROW;
}

/* Output columns of the first round, of patches of one row and of two: the second half of a round's outputs
   are in the even lanes, the first in the odd ones. */
static const uint16_t columns_of_round[2][8] = {{4, 0, 5, 1, 6, 2, 7, 3}, {2, 0, 3, 1, 2, 0, 3, 1}};
enum { SECOND_ROW = 0xff00 /* lanes, as a predicate, of patches of two rows */ };

/* The table of a part of one band. */
static void set_rounds_of_band(struct patches *patches, const struct cm_depthwise *d, const struct part *part,
                               int32_t rounds, int32_t base)
{
    const int32_t *rows = d->out_rows + part->first_row;
    const uint16_t channels = (uint16_t)d->channels;
    const uint16_t per_round = (uint16_t)(part->shape->columns * part->shape->patches);
    uint16x8_t column = vldrhq_u16(columns_of_round[part->shape->rows - 1]);
    uint16x8_t offset = vmlaq_n_u16(vdupq_n_u16((uint16_t)(rows[0] - base + 2)), column, channels);
    /* Negative as long as there is such an output. */
    uint16x8_t beyond = vsubq_n_u16(column, (uint16_t)part->width);
    if (part->rows == 2)
        offset = vaddq_m_n_u16(offset, offset, (uint16_t)(rows[1] - rows[0]), SECOND_ROW);
    else if (part->shape->rows == 2)
        beyond = vdupq_m_n_u16(beyond, 0, SECOND_ROW);
    for (int32_t r = 1; r <= rounds; ++r) {
        const int16x8_t inside = vshrq_n_s16(vreinterpretq_s16_u16(beyond), 15);
        vstrhq_u16(patches->offsets[r], vandq_u16(offset, vreinterpretq_u16_s16(inside)));
        beyond = vaddq_n_u16(beyond, per_round);
        offset = vaddq_n_u16(offset, (uint16_t)(per_round * channels));
    }
}

/* The same for several bands: lanes beyond one go on in the next. */
static void set_rounds_of_bands(struct patches *patches, const struct cm_depthwise *d,
                                const struct part *part, int32_t rounds, int32_t base)
{
    enum { MOST_BEYOND = 8 /* bands, of the last round */ };
    const int32_t *rows = d->out_rows + part->first_row;
    const int32_t together = part->shape->rows;
    const uint16_t width = (uint16_t)part->width, pitch = (uint16_t)(part->pitch * part->shape->columns);
    const uint16_t per_round = (uint16_t)(part->shape->columns * part->shape->patches);
    uint16_t starts[2 * (MOST_BANDS + MOST_BEYOND)] = {0}; /* of the rows of each band, zero for none */
    for (int32_t r = 0; r < part->rows; ++r)
        starts[together == 2 ? r : 2 * r] = (uint16_t)(rows[r] - base + 2);
    uint16x8_t column = vldrhq_u16(columns_of_round[together - 1]), row = vdupq_n_u16(0);
    if (together == 2)
        row = vdupq_m_n_u16(row, 1, SECOND_ROW);
    for (int32_t r = 1; r <= rounds; ++r) {
        mve_pred16_t beyond;
        while ((beyond = vcmpcsq_n_u16(column, pitch)) != 0) {
            column = vsubq_m_n_u16(column, column, pitch, beyond);
            row = vaddq_m_n_u16(row, row, 2, beyond);
        }
        const uint16x8_t start = vldrhq_gather_shifted_offset_u16(starts, row);
        const mve_pred16_t inside = vcmphiq_m_u16(vdupq_n_u16(width), column, vcmpneq_n_u16(start, 0));
        const uint16x8_t offset = vmlaq_n_u16(start, column, (uint16_t)d->channels);
        vstrhq_u16(patches->offsets[r], vpselq_u16(offset, vdupq_n_u16(0), inside));
        column = vaddq_n_u16(column, per_round);
    }
}

static void set_rounds(struct patches *patches, const struct cm_depthwise *d, const struct part *part,
                       int32_t base)
{
    int32_t per_round = part->shape->patches;
    int32_t count = (part->bands - 1) * part->pitch + row_patches(part);
    int32_t rounds = (count + per_round - 1) / per_round;
    patches->rounds = rounds - 1;
    patches->next_address = ROWS - rounds * per_round * 2 * COLUMN_BYTES;
    if (part->bands == 1)
        set_rounds_of_band(patches, d, part, rounds, base);
    else
        set_rounds_of_bands(patches, d, part, rounds, base);
    /* `out` will be one channel further. */
    vstrhq_u16(patches->before, vqsubq_n_u16(vldrhq_u16(patches->offsets[rounds]), 1));
}

/* Columns outside the image. */
static inline void pad(int8_t *columns, int8x16_t zeros, int32_t count)
{
    for (; count > 0; --count, columns += COLUMN_BYTES)
        for (int32_t i = 0; i < COLUMN_BYTES; i += LANES)
            vstrbq_s8(columns + i, zeros);
}

static void convolve_part(const struct cm_depthwise *d, struct patches *patches, const struct part *part,
                          int32_t base)
{
    const struct cm_columns *covered = &part->covered;
    const int32_t rows = part->shape->rows, step = part->pitch * 2 * COLUMN_BYTES;
    int8_t *inside = (int8_t *)d->workspace + covered->before * COLUMN_BYTES;
    const int8x16_t zeros = vdupq_n_s8((int8_t)d->input_zero_point);
    int8_t padding[LANES];
    vstrbq_s8(padding, zeros);
    for (int32_t b = 0; b < part->bands; ++b) {
        int8_t *columns = inside + b * step;
        pad(columns - covered->before * COLUMN_BYTES, zeros, covered->before);
        pad(columns + covered->inside * COLUMN_BYTES, zeros, covered->after);
    }
    set_rounds(patches, d, part, base);
    patches->out = d->out + base + part->x0 * d->channels - 2;
    patches->columns = d->workspace;
    patches->shifts = (const int8_t *)d->weights + MARGIN + SHIFT_AT;
    const int32_t offset = (covered->first + covered->before) * d->channels;
    struct four_rows bands[MOST_BANDS];
    for (int32_t b = 0; b < part->bands; ++b) {
        const int32_t r = b * rows, needed = least(rows, part->rows - r) + 2; /* two rows have stride 1 */
        find_rows(&bands[b], d, (part->first_row + r) * d->stride_height, needed, offset, padding);
    }
    for (int32_t left = d->channels; left > 0; left -= LANES) {
        int8_t *columns = inside;
        for (struct four_rows *four = bands, *end = bands + part->bands; four < end; ++four, columns += step)
            interleave(four, columns, COLUMN_BYTES, covered->inside);
        patches->shifts_end = patches->shifts + least(left, LANES) * CHANNEL_BYTES;
        cm_mve_convolve_patches(patches, part->shape->loop);
        patches->out += LANES;
        patches->shifts = patches->shifts_end;
    }
}

/* Output columns [x0, x0 + width) of all rows, as many rows at once as the workspace and the table hold. */
static void convolve_columns(const struct cm_depthwise *d, const struct shape *shape, struct patches *patches,
                             int32_t x0, int32_t width)
{
    struct part part = {.x0 = x0, .width = width, .shape = shape};
    part.covered = cm_covered_columns(d, 3, x0, width);
    part.pitch = band_pitch(&part);
    int32_t columns = shape->columns * part.pitch;
    int32_t per_round = shape->columns * shape->patches;
    int32_t most = least(least(d->chunk, MOST_ROUNDS * per_round) / columns, MOST_BANDS);
    int32_t bands = shape->rows == 2 ? (d->band + 1) / 2 : d->band, each = bands;
    if (most <= 1) {
        each = 1;
    } else if (bands > most) {
        const int32_t parts = (bands + most - 1) / most;
        each = (bands + parts - 1) / parts;
    }
    int32_t rows = each * shape->rows;
    for (; part.first_row < d->band; part.first_row += part.rows) {
        int32_t base;
        part.rows = least(rows, d->band - part.first_row);
        while ((base = find_base(d, &part)) == CM_NO_ROW)
            --part.rows;
        part.bands = (part.rows + shape->rows - 1) / shape->rows;
        convolve_part(d, patches, &part, base);
    }
}

static void convolve(const struct cm_depthwise *d, const struct shape *shape)
{
    struct patches patches;
    int32_t per_round = shape->columns * shape->patches;
    int32_t most = least(MOST_ROUNDS * per_round, (FARTHEST - 1) / d->channels);
    int32_t chunk = least(d->chunk, most);
    patches.zero_point = d->output.zero_point;
    for (int32_t x = 0; x < d->out_width; x += chunk)
        convolve_columns(d, shape, &patches, x, least(chunk, d->out_width - x));
}

void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *d)
{
    static const struct shape shape = {2, 2, 2, cm_mve_stride_1_right};
    convolve(d, &shape);
}

void cm_isa_depthwise_3x3_s8_half_up(const struct cm_depthwise *d)
{
    static const struct shape shape = {2, 2, 2, cm_mve_stride_1_half_up};
    convolve(d, &shape);
}

void cm_isa_depthwise_3x3_s8_row(const struct cm_depthwise *d)
{
    static const struct shape shape = {1, 2, 4, cm_mve_row_right};
    convolve(d, &shape);
}

void cm_isa_depthwise_3x3_s8_row_half_up(const struct cm_depthwise *d)
{
    static const struct shape shape = {1, 2, 4, cm_mve_row_half_up};
    convolve(d, &shape);
}

void cm_isa_depthwise_3x3_s8_stride_2(const struct cm_depthwise *d)
{
    static const struct shape shape = {1, 1, 8, cm_mve_stride_2_right};
    convolve(d, &shape);
}

void cm_isa_depthwise_3x3_s8_stride_2_half_up(const struct cm_depthwise *d)
{
    static const struct shape shape = {1, 1, 8, cm_mve_stride_2_half_up};
    convolve(d, &shape);
}
