/* Convolutions with several filters for each channel, with MVE: two filters and four pixels at a time, taps
   that are gathered in the lanes.

   The including file defines how the taps in a vector are loaded: offset, their type; LANES of them; and
   instructions: LOAD_OFFSETS and LOAD_WEIGHTS advance r11 and r5; GATHER and ADVANCE; MULTIPLY, to which "a"
   may be added. */
#ifndef GATHERED_TAPS_H
#define GATHERED_TAPS_H

#include "cmrt/assembly.h"
#include "cmrt/elementwise.h"
#include "cmrt/taps.h"

#include <stdbool.h>
#include <string.h>

enum { PIXELS = 4, HEAD_BYTES = 40, FARTHEST = 0xffff };

/* Operands of the assembly. Packed weights of two filters are, of each, bias, left shift, multiplier, 1 if
   halves are rounded away from zero, shift to the right; then weights of a vector of taps of each in turn.
   The last filter of a channel is there twice if it is alone. */
struct filters {
    const int8_t *packed;
    int32_t zero_point;
    int8_t *out;
    const int8_t *end; /* the pixel at which to stop */
    int32_t step;      /* from four pixels to the next */
    int32_t out_step;
    const offset *taps;     /* from a pixel */
    const int8_t *pixel;    /* r1 */
    int32_t next;           /* r3: from the first of four pixels to the second */
    const offset *taps_end; /* r7 */
    int32_t further;        /* r9: to the third */
    int32_t minimum, maximum;
    uint16_t places[2 * PIXELS]; /* of the outputs of each pixel */
};

/* clang-format off */
/* Of two pixels: r1 and r3 are addresses of the first taps, q0 the offsets of a vector of them. */
#define TWO_PIXELS(multiply, sum0, sum1, other0, other1) \
    GATHER("q1", "r1") \
    GATHER("q2", "r3") \
    multiply " " sum0 ", q1, q5\n" \
    multiply " " other0 ", q1, q6\n" \
    multiply " " sum1 ", q2, q5\n" \
    multiply " " other1 ", q2, q6\n"

#define VECTOR_OF_TAPS(multiply) \
    LOAD_OFFSETS \
    LOAD_WEIGHTS("q5") \
    LOAD_WEIGHTS("q6") \
    TWO_PIXELS(multiply, "r0", "r2", "r8", "r10") \
    ADVANCE \
    TWO_PIXELS(multiply, "r4", "r6", "r12", "lr") \
    "cmp r11, r7\n"

#define RESCALE(sums) \
    "ldm r0!, {r2, r4, r6, r8, r10}\n" \
    "vadd.i32 " sums ", " sums ", r2\n" \
    "vshl.s32 " sums ", r4\n" \
    "vqrdmulh.s32 " sums ", " sums ", r6\n" \
    "vqdmlah.s32 " sums ", " sums ", r8\n" \
    "vrshl.s32 " sums ", r10\n"

/* The stack frame is the struct's first seven words. */
#define FILTERS_FUNCTION(name) \
    void name(const struct filters *filters); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "sub sp, #28\n" \
          "ldm r0!, {r1-r7}\n" \
          "stm sp, {r1-r7}\n" \
          "add r5, r1, #40\n" \
          "mov r11, r7\n" \
          "ldm r0!, {r1, r3, r7, r9}\n" \
          "add r3, r1\n" \
          "ldm r0!, {r2, r4}\n" \
          "vdup.16 q3, r2\n" \
          "vdup.16 q4, r4\n" \
          "vldrh.16 q7, [r0]\n" \
          "1:\n" \
          VECTOR_OF_TAPS(MULTIPLY) \
          "beq 3f\n" \
          "2:\n" \
          VECTOR_OF_TAPS(MULTIPLY_ADD) \
          "bne 2b\n" \
          "3:\n" \
          "vmov q1[2], q1[0], r0, r4\n" \
          "vmov q1[3], q1[1], r2, r6\n" \
          "vmov q2[2], q2[0], r8, r12\n" \
          "vmov q2[3], q2[1], r10, lr\n" \
          "ldr r0, [sp]\n" \
          RESCALE("q1") \
          RESCALE("q2") \
          "mov r5, r0\n" \
          "vqmovnb.s32 q1, q1\n" \
          "vqmovnt.s32 q1, q2\n" \
          "ldrd r2, r4, [sp, #4]\n" \
          "vqadd.s16 q1, q1, r2\n" \
          "vmax.s16 q1, q1, q3\n" \
          "vmin.s16 q1, q1, q4\n" \
          "vstrb.16 q1, [r4, q7]\n" \
          "ldrd r6, r8, [sp, #12]\n" \
          "ldrd r10, r11, [sp, #20]\n" \
          "add r1, r8\n" \
          "add r3, r8\n" \
          "add r4, r10\n" \
          "str r4, [sp, #8]\n" \
          "cmp r1, r6\n" \
          "bne.w 1b\n" \
          "add sp, #28\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)
/* clang-format on */

/* Whether windows lie inside of the image, and near enough to each other for offsets; from `*low` on, then.
 */
static bool are_near(const struct cm_depthwise *d, const int32_t *rows, const struct cm_columns *columns,
                     int32_t *low)
{
    int32_t first = rows[0], last = first;
    for (int32_t ky = 0; ky < d->kernel_height; ++ky) {
        int32_t row = rows[ky * d->dilation_height];
        if (row == CM_NO_ROW)
            return false;
        first = row < first ? row : first;
        last = row > last ? row : last;
    }
    *low = first;
    int32_t along = ((d->kernel_width - 1) * d->dilation_width + 2 * d->stride_width + 1) * d->input_channels;
    return columns->before + columns->after == 0 && last - first <= FARTHEST - along;
}

/* A row of the columns that windows cover, between zero points. */
static void write_row(const struct cm_depthwise *d, const struct cm_columns *columns, int32_t row,
                      int8_t *out)
{
    int32_t before = columns->before * d->input_channels, inside = columns->inside * d->input_channels;
    int32_t after = columns->after * d->input_channels;
    if (row == CM_NO_ROW || inside <= 0) {
        memset(out, d->input_zero_point, (size_t)(before + inside + after));
        return;
    }
    const int8_t *in = d->input + row + columns->first * d->input_channels + before;
    memset(out, d->input_zero_point, (size_t)before);
    cm_isa_copy_blocks_s8(out + before, inside, in, inside, inside, 1);
    memset(out + before + inside, d->input_zero_point, (size_t)after);
}

/* Offsets of the taps from the first of their rows. Returns where these begin. */
static const int8_t *find_taps(const struct cm_depthwise *d, const int32_t *rows, int32_t x0, int32_t width,
                               offset *taps, int8_t *space)
{
    int32_t reach = (d->kernel_width - 1) * d->dilation_width + 1, low = 0;
    struct cm_columns columns = cm_covered_columns(d, reach, x0, width);
    int32_t pitch = (columns.before + columns.inside + columns.after) * d->input_channels;
    bool is_near = are_near(d, rows, &columns, &low);
    for (int32_t ky = 0; ky < d->kernel_height; ++ky) {
        int32_t row = rows[ky * d->dilation_height];
        if (!is_near)
            write_row(d, &columns, row, space + ky * pitch);
        int32_t first = is_near ? row - low : ky * pitch;
        for (int32_t kx = 0; kx < d->kernel_width; ++kx, first += d->dilation_width * d->input_channels)
            *taps++ = (offset)first;
    }
    return is_near ? d->input + low + columns.first * d->input_channels : space;
}

/* Two filters, or one that is alone, of `width` pixels that are `stride` bytes apart. */
static inline void convolve_filters(const struct cm_depthwise *d, struct filters *filters,
                                    const int8_t *first, int8_t *out, int32_t width, bool is_alone,
                                    void (*multiply)(const struct filters *filters))
{
    const int32_t fours = width / PIXELS;
    for (int32_t i = 0; i < PIXELS; ++i)
        filters->places[2 * i + 1] = (uint16_t)(filters->places[2 * i] + !is_alone);
    filters->out = out;
    filters->pixel = first;
    filters->end = first + (fours > 0 ? fours : 1) * filters->step;
    multiply(filters);
    if (fours > 0 && width % PIXELS != 0) {
        filters->out = out + (width - PIXELS) * d->channels;
        filters->pixel = first + (width - PIXELS) * (filters->step / PIXELS);
        filters->end = filters->pixel + filters->step;
        multiply(filters);
    }
}

/* All filters of all channels, of `width` pixels from `first` on. */
static inline void convolve_channels(const struct cm_depthwise *d, struct filters *filters,
                                     const int8_t *first, int8_t *out, int32_t width,
                                     void (*multiply)(const struct filters *filters))
{
    const int32_t packed_bytes = HEAD_BYTES + (int32_t)(filters->taps_end - filters->taps) * 2;
    const int32_t each = d->channels / d->input_channels; /* filters of a channel */
    for (int32_t left = d->channels; left > 0; left -= each, ++first)
        for (int32_t f = 0; f < each; f += 2, filters->packed += packed_bytes) {
            const bool is_alone = f + 1 == each;
            convolve_filters(d, filters, first, out, width, is_alone, multiply);
            out += is_alone ? 1 : 2;
        }
}

/* Steps between pixels that are `stride` bytes apart. Of less than four pixels, some are computed twice. */
static inline void set_pixels(const struct cm_depthwise *d, struct filters *filters, int32_t width,
                              int32_t stride)
{
    const int32_t second = width > 1, third = width > 3 ? 2 : width == 3;
    filters->next = second * stride;
    filters->further = third * stride;
    for (int32_t i = 0; i < PIXELS; ++i)
        filters->places[2 * i] = (uint16_t)((i % 2 * second + i / 2 * third) * d->channels);
}

static inline void convolve_gathered(const struct cm_depthwise *d, const int8_t *packed,
                                     void (*multiply)(const struct filters *filters))
{
    const int32_t taps_count = d->kernel_height * d->kernel_width;
    const int32_t slots = (taps_count + LANES - 1) & -LANES, stride = d->stride_width * d->input_channels;
    offset *taps = d->workspace;
    int8_t *space = (int8_t *)(taps + slots);
    struct filters filters = {
        .zero_point = d->output.zero_point,
        .step = PIXELS * stride,
        .out_step = PIXELS * d->channels,
        .taps = taps,
        .taps_end = taps + slots,
        .minimum = d->output.minimum,
        .maximum = d->output.maximum,
    };
    for (int32_t i = taps_count; i < slots; ++i)
        taps[i] = 0; /* times 0 */
    for (int32_t r = 0; r < d->band; ++r)
        for (int32_t x = 0, width; x < d->out_width; x += width) {
            width = d->out_width - x < d->chunk ? d->out_width - x : d->chunk;
            set_pixels(d, &filters, width, stride);
            const int8_t *first = find_taps(d, d->input_rows + r * d->stride_height, x, width, taps, space);
            filters.packed = packed;
            convolve_channels(d, &filters, first, d->out + d->out_rows[r] + x * d->channels, width, multiply);
        }
}

#endif
