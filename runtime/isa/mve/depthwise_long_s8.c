/* Depthwise convolution with MVE for kernels of one row, or of one column if images have one, of up to 13
   taps: one channel at a time, its pixels in the lanes.

   Sixteen channels of four input pixels are first interleaved in the workspace: the four pixels of one
   channel are a 32-bit word. One gather loads a patch of sixteen pixels, which gives four outputs, with
   weights shifted by up to three pixels. Behind the interleaved words lie the pixels' addresses and a pixel
   of padding. */
#include "depthwise_loops.h"

#include "cmrt/isa.h"

#include <arm_mve.h>
#include <stdbool.h>
#include <string.h>

/* clang-format off */
#undef GATHER
#define GATHER(patch) "vldrw.u32 " patch ", [q3, #64]!\n"

/* The kernel, shifted by no pixel to three. */
#undef LOAD_KERNEL
#undef LOAD_BY_COLUMN
#undef LOAD_BY_ROW
#undef LOAD_BY_BOTH
#define LOAD_KERNEL "vldrb.8 q4, [r7, #-25]\n"
#define LOAD_BY_COLUMN "vldrb.8 q5, [r7, #-26]\n"
#define LOAD_BY_ROW "vldrb.8 q6, [r7, #-27]\n"
#define LOAD_BY_BOTH "vldrb.8 q7, [r7, #-28]\n"

void cm_mve_convolve_long(const struct patches *patches, patches_loop *loop);

PATCHES_ENTRY(cm_mve_convolve_long, "64");
PATCHES_LOOPS(long, START_STRIDE_1, ROUND_STRIDE_1);
/* clang-format on */

enum {
    LANES = 16,
    WORD = 4, /* pixels */
    WORD_BYTES = LANES * WORD,
    OUTPUTS = 8,                  /* of a round, from two patches */
    ROUND_BYTES = 2 * WORD_BYTES, /* from one round to the next */
    CHANNEL_BYTES = 32,
    SHIFT_AT = 28, /* of a channel */
    FARTHEST = 0xffff - 2
};

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Along a row if the kernel has one row, else down the only column. */
static bool is_row(const struct cm_depthwise *d)
{
    return d->kernel_height == 1;
}

static int32_t find_output(const struct cm_depthwise *d, int32_t index)
{
    return is_row(d) ? d->out_rows[0] + index * d->channels : d->out_rows[index];
}

/* How many outputs from `first` on, up to `most`, are near each other; the lowest offset of these. */
static int32_t count_near(const struct cm_depthwise *d, int32_t first, int32_t most, int32_t *base)
{
    int32_t low = find_output(d, first), high = low, count = 1;
    for (; count < most; ++count) {
        const int32_t offset = find_output(d, first + count);
        const int32_t lower = offset < low ? offset : low, upper = offset > high ? offset : high;
        if (upper - lower > FARTHEST)
            break;
        low = lower;
        high = upper;
    }
    *base = low;
    return count;
}

/* Fills the addresses of `count` input pixels from `first` on, to whole words; whether some are padding. */
static bool list_row(const struct cm_depthwise *d, int32_t first, int32_t count, const int8_t *padding,
                     const int8_t **pixels)
{
    const int32_t row = d->input_rows[0], width = row == CM_NO_ROW ? 0 : d->input_width;
    const int8_t *const pixel = d->input + (row == CM_NO_ROW ? 0 : row);
    bool is_padded = false;
    for (int32_t x = first - d->pad_left, end = x + ((count + WORD - 1) & -WORD); x < end; ++x) {
        const bool is_inside = x >= 0 && x < width;
        is_padded |= !is_inside;
        *pixels++ = is_inside ? pixel + x * d->channels : padding;
    }
    return is_padded;
}

static bool list_column(const struct cm_depthwise *d, int32_t first, int32_t count, const int8_t *padding,
                        const int8_t **pixels)
{
    bool is_padded = false;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t row = d->input_rows[first + i];
        is_padded |= row == CM_NO_ROW;
        pixels[i] = row == CM_NO_ROW ? padding : d->input + row;
    }
    for (int32_t i = count; i % WORD != 0; ++i)
        pixels[i] = padding;
    return is_padded;
}

static void interleave(const int8_t *const *pixels, int32_t offset, int8_t *words, int32_t count)
{
    for (; count > 0; --count, pixels += WORD, words += WORD_BYTES) {
        const int8x16x4_t word = {{vldrbq_s8(pixels[0] + offset), vldrbq_s8(pixels[1] + offset),
                                   vldrbq_s8(pixels[2] + offset), vldrbq_s8(pixels[3] + offset)}};
        vst4q_s8(words, word);
    }
}

/* The second half of a round's outputs are in the even lanes, the first in the odd ones. */
static void set_rounds(struct patches *patches, const struct cm_depthwise *d, int32_t first, int32_t count,
                       int32_t base)
{
    const int32_t rounds = (count + OUTPUTS - 1) / OUTPUTS;
    memset(patches->offsets[1], 0, (size_t)rounds * sizeof patches->offsets[0]);
    for (int32_t i = 0; i < count; ++i)
        patches->offsets[1 + i / OUTPUTS][2 * (i % WORD) + (i % OUTPUTS < WORD)] =
            (uint16_t)(find_output(d, first + i) - base + 2);
    patches->rounds = rounds - 1;
    patches->next_address = WORD - rounds * ROUND_BYTES;
    /* `out` will be one channel further. */
    vstrhq_u16(patches->before, vqsubq_n_u16(vldrhq_u16(patches->offsets[rounds]), 1));
}

/* Outputs [first, first + count) of all channels. */
static void convolve_part(const struct cm_depthwise *d, struct patches *patches, int32_t first, int32_t count,
                          patches_loop *loop)
{
    const int32_t taps = d->kernel_height * d->kernel_width, inputs = count + taps - 1;
    const int32_t filled = (inputs + WORD - 1) / WORD;
    int8_t *const words = d->workspace;
    const int8_t **const pixels = (const int8_t **)(words + filled * WORD_BYTES);
    int8_t *const padding = (int8_t *)(pixels + filled * WORD);
    const bool is_padded = is_row(d) ? list_row(d, first, inputs, padding, pixels)
                                     : list_column(d, first, inputs, padding, pixels);
    if (is_padded)
        memset(padding, d->input_zero_point, (size_t)((d->channels + LANES - 1) & -LANES));
    patches->columns = words;
    patches->shifts = (const int8_t *)d->weights + SHIFT_AT;
    for (int32_t c = 0; c < d->channels; c += LANES) {
        interleave(pixels, c, words, filled);
        patches->shifts_end = patches->shifts + least(d->channels - c, LANES) * CHANNEL_BYTES;
        cm_mve_convolve_long(patches, loop);
        patches->shifts = patches->shifts_end;
        patches->out += LANES;
    }
}

static void convolve(const struct cm_depthwise *d, patches_loop *loop)
{
    struct patches patches;
    const int32_t outputs = is_row(d) ? d->out_width : d->band;
    const int32_t most = least(d->chunk, MOST_ROUNDS * OUTPUTS);
    patches.zero_point = d->output.zero_point;
    for (int32_t first = 0, count; first < outputs; first += count) {
        int32_t base;
        count = count_near(d, first, least(most, outputs - first), &base);
        set_rounds(&patches, d, first, count, base);
        patches.out = d->out + base - 2;
        convolve_part(d, &patches, first, count, loop);
    }
}

void cm_isa_depthwise_long_s8(const struct cm_depthwise *d)
{
    convolve(d, cm_mve_long_right);
}

void cm_isa_depthwise_long_s8_half_up(const struct cm_depthwise *d)
{
    convolve(d, cm_mve_long_half_up);
}
