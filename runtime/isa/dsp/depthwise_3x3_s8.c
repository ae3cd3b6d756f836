/* 3x3 depthwise convolution with the DSP extension: one channel at a time.

   Four channels of up to four input rows are first interleaved in the workspace: there two rows of a column
of one channel are a word of two 16-bit numbers. SMLAD multiplies two rows of a column at once, and two
rows of outputs share the loads. */
#include "cmrt/taps.h"
#include "simd.h"

#include <arm_acle.h>
#include <string.h>

enum { CHANNELS = 4 };

/* Weights of rows 0 and 1, and 1 and 2, of the three columns; for the rescaling see gemm_s8.c. */
struct filter {
    int32_t upper[3], lower[3];
    int32_t bias, multiplier, shift, offset;
};

/* A column of four channels: rows 0 and 1, and 2 and 3. */
struct column {
    uint32_t rows[CHANNELS][2];
};

/* Rows 2 * pair and 2 * pair + 1 of `count` columns. Columns outside the image have step 0. */
static void interleave(struct column *columns, int32_t pair, const int8_t *row0, int32_t step0,
                       const int8_t *row1, int32_t step1, int32_t count)
{
    uint32_t *out = &columns->rows[0][pair];
    for (; count > 0; --count, out += 2 * CHANNELS) {
        uint32_t bytes0 = load_bytes(row0), bytes1 = load_bytes(row1);
        row0 += step0;
        row1 += step1;
        uint32_t even0 = widen_even(bytes0), odd0 = widen_odd(bytes0);
        uint32_t even1 = widen_even(bytes1), odd1 = widen_odd(bytes1);
        out[0] = join_lower(even0, even1);
        out[2] = join_lower(odd0, odd1);
        out[4] = join_upper(even0, even1);
        out[6] = join_upper(odd0, odd1);
    }
}

/* Row 2 of `count` columns; row 3 is unused. */
static void spread(struct column *columns, const int8_t *row, int32_t step, int32_t count)
{
    for (; count > 0; --count, ++columns, row += step) {
        uint32_t bytes = load_bytes(row);
        uint32_t even = widen_even(bytes), odd = widen_odd(bytes);
        columns->rows[0][1] = even;
        columns->rows[1][1] = odd;
        columns->rows[2][1] = even >> 16;
        columns->rows[3][1] = odd >> 16;
    }
}

static inline int8_t rescale(int32_t sum, int32_t multiplier, int32_t shift, int32_t offset)
{
    sum = add_high_product(sum, multiplier, sum);
    sum += sum >> 31;
    return saturate_s8((sum + offset) >> shift);
}

/* Two rows of outputs of one channel, with stride 1. */
static void convolve_two_rows(const struct filter *filter, const uint32_t *columns, int8_t *out,
                              int32_t next_row, int32_t step, int32_t count)
{
    int32_t upper0 = filter->upper[0], upper1 = filter->upper[1], upper2 = filter->upper[2];
    int32_t lower0 = filter->lower[0], lower1 = filter->lower[1], lower2 = filter->lower[2];
    for (; count > 0; --count, columns += 2 * CHANNELS, out += step) {
        int32_t sum0 = filter->bias, sum1 = sum0;
        int32_t top = (int32_t)columns[0], bottom = (int32_t)columns[1];
        sum0 = __smlabt(bottom, lower0, __smlad(top, upper0, sum0));
        sum1 = __smlatb(top, upper0, __smlad(bottom, lower0, sum1));
        top = (int32_t)columns[2 * CHANNELS], bottom = (int32_t)columns[2 * CHANNELS + 1];
        sum0 = __smlabt(bottom, lower1, __smlad(top, upper1, sum0));
        sum1 = __smlatb(top, upper1, __smlad(bottom, lower1, sum1));
        top = (int32_t)columns[4 * CHANNELS], bottom = (int32_t)columns[4 * CHANNELS + 1];
        sum0 = __smlabt(bottom, lower2, __smlad(top, upper2, sum0));
        sum1 = __smlatb(top, upper2, __smlad(bottom, lower2, sum1));
        int32_t multiplier = filter->multiplier, shift = filter->shift, offset = filter->offset;
        int8_t first = rescale(sum0, multiplier, shift, offset);
        int8_t second = rescale(sum1, multiplier, shift, offset);
        out[0] = first;
        out[next_row] = second;
    }
}

/* One row of outputs of one channel. */
static void convolve_row(const struct filter *filter, const uint32_t *columns, int32_t stride, int8_t *out,
                         int32_t step, int32_t count)
{
    int32_t upper0 = filter->upper[0], upper1 = filter->upper[1], upper2 = filter->upper[2];
    int32_t lower0 = filter->lower[0], lower1 = filter->lower[1], lower2 = filter->lower[2];
    for (; count > 0; --count, columns += stride * 2 * CHANNELS, out += step) {
        int32_t sum = __smlad((int32_t)columns[0], upper0, filter->bias);
        sum = __smlabt((int32_t)columns[1], lower0, sum);
        sum = __smlad((int32_t)columns[2 * CHANNELS], upper1, sum);
        sum = __smlabt((int32_t)columns[2 * CHANNELS + 1], lower1, sum);
        sum = __smlad((int32_t)columns[4 * CHANNELS], upper2, sum);
        sum = __smlabt((int32_t)columns[4 * CHANNELS + 1], lower2, sum);
        *out = rescale(sum, filter->multiplier, filter->shift, filter->offset);
    }
}

static void fill(struct column *columns, int32_t zero_point, int32_t count)
{
    for (; count > 0; --count, ++columns)
        for (int32_t i = 0; i < CHANNELS; ++i)
            columns->rows[i][0] = columns->rows[i][1] =
                join_lower((uint32_t)zero_point, (uint32_t)zero_point);
}

static void convolve_channels(const struct cm_depthwise *d, const struct filter *filter,
                              const struct column *columns, int8_t *out, int32_t count, int32_t width)
{
    for (int32_t c = 0; c < count; ++c, ++filter, ++out)
        if (d->band == 2)
            convolve_two_rows(filter, columns->rows[c], out, d->out_rows[1] - d->out_rows[0], d->channels,
                              width);
        else
            convolve_row(filter, columns->rows[c], d->stride_width, out, d->channels, width);
}

/* Output columns [x0, x0 + width) of all channels. */
static void convolve_columns(const struct cm_depthwise *d, int32_t x0, int32_t width)
{
    struct column *columns = d->workspace;
    struct cm_columns covered = cm_covered_columns(d, 3, x0, width);
    struct column *inside = columns + covered.before;
    fill(columns, d->input_zero_point, covered.before);
    fill(inside + covered.inside, d->input_zero_point, covered.after);

    int8_t padding[CHANNELS];
    memset(padding, d->input_zero_point, sizeof padding);
    struct cm_four_rows rows = cm_find_rows(d, 0, 2 + d->band, covered.first + covered.before, padding);
    const struct filter *filters = d->weights;
    int8_t *out = d->out + d->out_rows[0] + x0 * d->channels;
    for (int32_t c = 0; c < d->channels; c += CHANNELS) {
        interleave(inside, 0, rows.at[0], rows.step[0], rows.at[1], rows.step[1], covered.inside);
        if (d->band == 2)
            interleave(inside, 1, rows.at[2], rows.step[2], rows.at[3], rows.step[3], covered.inside);
        else
            spread(inside, rows.at[2], rows.step[2], covered.inside);
        cm_advance_rows(&rows, CHANNELS);
        int32_t channels = d->channels - c < CHANNELS ? d->channels - c : CHANNELS;
        convolve_channels(d, filters + c, columns, out + c, channels, width);
    }
}

void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *d)
{
    for (int32_t x = 0; x < d->out_width; x += d->chunk) {
        int32_t left = d->out_width - x;
        convolve_columns(d, x, left < d->chunk ? left : d->chunk);
    }
}
