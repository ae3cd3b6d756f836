/* 3x3 depthwise convolution with the DSP extension: bands of rows, one channel at a time.

   Four channels of the input are first interleaved in the workspace: there two rows of a column of one
   channel are a word of two 16-bit numbers: see depthwise_loops.h. A file that includes this one defines
   `element`, the type of activations, and INTERLEAVE, the function for their rows. */
#ifndef DEPTHWISE_BANDS_H
#define DEPTHWISE_BANDS_H

#include "cmrt/taps.h"
#include "depthwise_loops.h"
#include "interleave.h"
#include "simd.h"

#include <stdbool.h>
#include <string.h>

/* A band is two rows of outputs, or one where the strides differ; bands at once: depthwise_schemes.py. */
enum { CHANNELS = 4, MOST_BANDS = 4, MOST_PAIRS = 3 };

/* The loops for a stride and a rounding: of bands, and of a single row, whose columns are two pairs of rows.
 */
struct loops {
    run_function *band, *row;
    int32_t pairs; /* of rows in a band's columns */
    bool is_odd;   /* bands may have an odd number of columns */
};

/* What is computed at once: output columns [x0, x0 + width) of some bands. In the workspace, the columns of a
   band follow each other; each is `pairs` pairs of rows of four channels. */
struct part {
    run_function *convolve;
    int32_t x0, width, first_row, rows, bands;
    bool is_odd;
    int32_t pairs, pitch; /* words from a column to the next */
    int32_t band_words;
    struct cm_columns covered;
    element padding[CHANNELS];
};

static int32_t band_rows(const struct cm_depthwise *d)
{
    return d->stride_width == d->stride_height ? 2 : 1;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void fill(const struct part *part, uint32_t *out, int32_t columns)
{
    uint32_t pair;
    memcpy(&pair, part->padding, sizeof pair);
    if (sizeof(element) == 1)
        pair = widen_even(pair);
    for (uint32_t *end = out + columns * part->pitch; out < end; ++out)
        *out = pair;
}

static void find_row(const struct cm_depthwise *d, const struct part *part, int32_t index,
                     struct cm_row_pair *pair, int32_t place)
{
    int32_t last = (part->first_row + part->rows - 1) * d->stride_height + 2;
    int32_t row = index > last ? CM_NO_ROW : d->input_rows[index];
    const struct cm_columns *covered = &part->covered;
    int32_t inside = row != CM_NO_ROW;
    pair->at[place] = inside ? d->input + row + (covered->first + covered->before) * d->channels
                             : (const int8_t *)part->padding;
    pair->step[place] = inside ? d->channels : 0;
}

/* Pads the bands, and finds their pairs of rows. A pair that is the last of a band and the first of the next
   one is interleaved once. */
static int32_t find_pairs(const struct cm_depthwise *d, const struct part *part, struct cm_row_pair *pairs)
{
    const struct cm_columns *covered = &part->covered;
    int32_t count = 0;
    for (int32_t b = 0; b < part->bands; ++b) {
        uint32_t *columns = (uint32_t *)d->workspace + b * part->band_words;
        uint32_t *inside = columns + covered->before * part->pitch;
        fill(part, columns, covered->before);
        fill(part, inside + covered->inside * part->pitch, covered->after);
        int32_t top = (part->first_row + b * band_rows(d)) * d->stride_height;
        for (int32_t p = 0; p < part->pairs; ++p) {
            struct cm_row_pair *pair = &pairs[count];
            find_row(d, part, top + 2 * p, pair, 0);
            find_row(d, part, top + 2 * p + 1, pair, 1);
            pair->out = inside + p * CHANNELS;
            pair->again =
                b > 0 && p == 0 ? pair->out - part->band_words + (part->pairs - 1) * CHANNELS : NULL;
            count += p < part->pairs - 1 || b == part->bands - 1;
        }
    }
    return count;
}

/* `count` output columns of a band from column `x` of the part on. */
static void add_segment(struct run *run, struct segment *segment, const struct cm_depthwise *d,
                        const struct part *part, int32_t band, int32_t x, int32_t count)
{
    const int32_t *rows = d->out_rows + part->first_row + band * band_rows(d);
    int32_t column_bytes = d->stride_width * part->pitch * (int32_t)sizeof(uint32_t);
    uint32_t columns = (uint32_t)(band * part->band_words * (int32_t)sizeof(uint32_t) + x * column_bytes);
    uint32_t out = (uint32_t)(rows[0] + (part->x0 + x) * d->channels);
    int32_t has_next = band_rows(d) == 2 && 2 * band + 1 < part->rows;
    *segment = (struct segment){
        .columns = (int32_t)(columns - run->columns),
        .out = (int32_t)(out - run->out),
        .length = count * column_bytes,
        .next_row = has_next ? rows[1] - rows[0] : 0,
    };
    run->columns = columns + (uint32_t)segment->length;
    run->out = out + (uint32_t)(count * d->channels);
}

/* Of an odd number of columns, the last but one is computed twice unless the loop takes such numbers. */
static int32_t find_segments(const struct cm_depthwise *d, const struct part *part, struct segment *segments,
                             struct run *run)
{
    int32_t count = 0;
    for (int32_t b = 0; b < part->bands; ++b) {
        const bool is_last_apart = part->width % 2 != 0 && !part->is_odd;
        add_segment(run, &segments[count++], d, part, b, 0, part->width - is_last_apart);
        if (is_last_apart)
            add_segment(run, &segments[count++], d, part, b, part->width - 2, 2);
    }
    /* The first one follows the last one of the channel before. */
    run->columns -= (uint32_t)sizeof(uint32_t);
    run->out -= (uint32_t)sizeof(element);
    segments->columns -= (int32_t)run->columns;
    segments->out -= (int32_t)run->out;
    return count;
}

static void convolve_part(const struct cm_depthwise *d, const struct part *part)
{
    struct cm_row_pair pairs[MOST_BANDS * (MOST_PAIRS - 1) + 1];
    struct segment segments[2 * MOST_BANDS];
    struct run run = {.step = d->channels, .zero_point = d->output.zero_point, .segments = segments};
    const struct cm_row_pair *pairs_end = pairs + find_pairs(d, part, pairs);
    run.segments_end = segments + find_segments(d, part, segments, &run);
    run.columns += (uint32_t)d->workspace;
    run.out += (uint32_t)d->out;
    run.filters = d->weights;
    const int32_t bytes = CHANNELS * (int32_t)sizeof(element);
    for (int32_t c = 0; c < d->channels; c += bytes) {
        if (part->covered.inside > 0)
            INTERLEAVE(pairs, pairs_end, part->pitch * (int32_t)sizeof(uint32_t), part->covered.inside);
        run.filters_end = run.filters + least(d->channels - c, bytes) / (int32_t)sizeof(element);
        part->convolve(&run);
        run.filters += CHANNELS;
        run.out += (uint32_t)bytes;
    }
}

/* Output columns [x0, x0 + width) of all rows, as many bands at once as the workspace holds. */
static void convolve_columns(const struct cm_depthwise *d, const struct loops *loops, int32_t x0,
                             int32_t width)
{
    struct part part = {.convolve = loops->row, .x0 = x0, .width = width, .pairs = 2};
    if (d->band > 1) {
        part.convolve = loops->band;
        part.pairs = loops->pairs;
        part.is_odd = loops->is_odd;
    }
    part.covered = cm_covered_columns(d, 3, x0, width);
    part.pitch = part.pairs * CHANNELS;
    part.band_words = ((width - 1) * d->stride_width + 3) * part.pitch;
    memset(part.padding, d->input_zero_point, sizeof part.padding);
    int32_t rows = band_rows(d);
    int32_t most = least(width == d->out_width ? d->chunk / width : 1, MOST_BANDS) * rows;
    for (; part.first_row < d->band; part.first_row += part.rows) {
        part.rows = least(most, d->band - part.first_row);
        part.bands = (part.rows + rows - 1) / rows;
        convolve_part(d, &part);
    }
}

static void convolve(const struct cm_depthwise *d, const struct loops *loops)
{
    for (int32_t x = 0, width; x < d->out_width; x += width) {
        int32_t left = d->out_width - x;
        /* At least two columns are computed at once, so the last chunk has them. */
        width = left <= d->chunk ? left : d->chunk - (left == d->chunk + 1);
        convolve_columns(d, loops, x, width);
    }
}

#endif
