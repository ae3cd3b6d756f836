/* Depthwise convolution of some channels with MVE: the windows of each are gathered from copies of its rows.
 */
#include "byte_taps.h"

#include <arm_mve.h>

FILTERS_FUNCTION(cm_mve_depthwise_channels);

/* The columns of one channel's row that windows cover. */
static void copy_row(const struct cm_depthwise *d, const struct cm_columns *columns, int32_t row,
                     int32_t channel, int8_t *out)
{
    const int32_t all = columns->before + columns->inside + columns->after;
    if (row == CM_NO_ROW || columns->inside < all)
        memset(out, d->input_zero_point, (size_t)all);
    if (row == CM_NO_ROW)
        return;
    const int8_t *in = d->input + row + (columns->first + columns->before) * d->input_channels + channel;
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)d->input_channels);
    out += columns->before;
    for (int32_t left = columns->inside; left > 0; left -= 8, in += 8 * d->input_channels, out += 8) {
        const mve_pred16_t valid = vctp16q((uint32_t)left);
        vstrbq_p_s16(out, vldrbq_gather_offset_z_s16(in, places, valid), valid);
    }
}

void cm_isa_depthwise_channels_s8(const struct cm_depthwise *d)
{
    const int32_t area = d->kernel_height * d->kernel_width, slots = (area + LANES - 1) & -LANES;
    const int32_t *head = d->weights, count = *head++;
    const struct cm_columns columns =
        cm_covered_columns(d, (d->kernel_width - 1) * d->dilation_width + 1, 0, d->out_width);
    const int32_t pitch = columns.before + columns.inside + columns.after;
    offset *taps = d->workspace, *tap = taps;
    int8_t *space = (int8_t *)(taps + slots);
    struct filters filters = {
        .zero_point = d->output.zero_point,
        .step = PIXELS * d->stride_width,
        .out_step = PIXELS * d->channels,
        .taps = taps,
        .taps_end = taps + slots,
        .minimum = d->output.minimum,
        .maximum = d->output.maximum,
    };
    memset(taps, 0, (size_t)slots * sizeof *taps);
    for (int32_t ky = 0; ky < d->kernel_height; ++ky)
        for (int32_t kx = 0; kx < d->kernel_width; ++kx)
            *tap++ = (offset)(ky * pitch + kx * d->dilation_width);
    set_pixels(d, &filters, d->out_width, d->stride_width);
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        filters.packed = (const int8_t *)(head + count);
        for (int32_t i = 0; i < count; ++i, filters.packed += HEAD_BYTES + 2 * slots) {
            for (int32_t ky = 0; ky < d->kernel_height; ++ky)
                copy_row(d, &columns, rows[ky * d->dilation_height], head[i], space + ky * pitch);
            convolve_filters(d, &filters, space, d->out + d->out_rows[r] + head[i], d->out_width, true,
                             cm_mve_depthwise_channels);
        }
    }
}
