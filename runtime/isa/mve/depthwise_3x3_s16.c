/* 3x3 depthwise convolution of int16 images with MVE: one channel at a time, its pixels in the lanes.

   Eight channels of four input rows are first interleaved in the workspace, column by column: there the four
   rows of a column of one channel are 64 bits, and one gather loads two columns. With stride 1 three such
   patches give two rows of four outputs, with weights shifted by a column and by a row; with stride 2 five
   give four outputs of a row. Packed weights are those of depthwise_loops.h: bytes, widened as they are
   loaded. Rescaling is requantize_s64 for sums of 32 bits: VQDMULH by the multiplier times 2^15, VRSHL by the
   rest of the shift. */
#include "cmrt/assembly.h"
#include "cmrt/short_output.h"
#include "interleave.h"

#include <arm_mve.h>
#include <stdbool.h>
#include <string.h>

INTERLEAVE(interleave_shorts, "16")

enum {
    LANES = 8,
    COLUMN_BYTES = LANES * 4 * (int)sizeof(int16_t),
    PIXEL = (int)sizeof(int16_t),
    OUTPUTS = 4, /* of a row, in a round */
    MOST_ROUNDS = 16,
    MOST_BANDS = 8,
    CHANNEL_BYTES = 32,
    WEIGHTS_AT = 16 + 4, /* after a margin and a column of zeros */
    FARTHEST = 0xffff
};

/* Operands of the assembly, for some channels. */
struct patches {
    const int8_t *weights;
    const int8_t *columns;
    const uint16_t *offsets; /* of each round's outputs from `out`; 0 for none */
    int8_t *out;             /* a pixel's channel before the first one */
    int32_t rounds;          /* less one */
    int32_t channels;
    int32_t unused[2];
    int16_t minimum[LANES];
};
typedef void patches_function(const struct patches *patches);
patches_function cm_mve_convolve_shorts, cm_mve_convolve_shorts_apart;

/* clang-format off */
#define JOIN_FIRST "vmov q0[2], q0[0], r0, r4\n" "vmov q0[3], q0[1], r2, r6\n"
#define JOIN_SECOND "vmov q1[2], q1[0], r8, r12\n" "vmov q1[3], q1[1], r10, lr\n"
#define RESCALE(sums) \
    "vadd.i32 " sums ", " sums ", r1\n" \
    "vqdmulh.s32 " sums ", " sums ", r3\n" \
    "vrshl.s32 " sums ", r5\n"
#define STORE \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmax.s16 q0, q0, q1\n" \
    "vldrh.16 q1, [r11], #16\n" \
    "vpt.i16 ne, q1, zr\n" \
    "vstrht.16 q0, [r9, q1]\n"

/* The sums of the first row of a round: columns are q4, q5 and q6; the sums are r0, r2, r4 and r6. */
#define FIRST_ROW \
    "vldrb.s16 q2, [r7, #0]\n" \
    "vmladav.s16 r0, q4, q2\n" \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmladav.s16 r4, q5, q2\n" \
    "vldrb.s16 q3, [r7, #8]\n" \
    "vmladava.s16 r0, q5, q3\n" \
    "vldrd.u64 q6, [q7, #128]!\n" \
    "vldrb.s16 q2, [r7, #-4]\n" \
    "vmladava.s16 r4, q6, q3\n" \
    "vmladav.s16 r2, q4, q2\n" \
    "vldrb.s16 q3, [r7, #4]\n" \
    "vmladav.s16 r6, q5, q2\n" \
    "vmladava.s16 r2, q5, q3\n" \
    "vmladava.s16 r6, q6, q3\n"

/* Those of the second row, r8, r10, r12 and lr; then the outputs of both. */
#define SECOND_ROW \
    JOIN_FIRST \
    "vldrb.s16 q2, [r7, #-1]\n" \
    "vmladav.s16 r8, q4, q2\n" \
    "vmladav.s16 r12, q5, q2\n" \
    "vldrb.s16 q3, [r7, #7]\n" \
    "vmladava.s16 r8, q5, q3\n" \
    "vmladava.s16 r12, q6, q3\n" \
    "vldrb.s16 q2, [r7, #-5]\n" \
    "vmladav.s16 r10, q4, q2\n" \
    "vmladav.s16 lr, q5, q2\n" \
    "vldrb.s16 q3, [r7, #3]\n" \
    "vmladava.s16 r10, q5, q3\n" \
    "vmladava.s16 lr, q6, q3\n" \
    RESCALE("q0") \
    JOIN_SECOND \
    "vqmovnb.s32 q0, q0\n" \
    RESCALE("q1") \
    "vqmovnt.s32 q0, q1\n" \
    STORE

/* SECOND_ROW, and FIRST_ROW of the next round, whose first column is the last one of this. The order is the best
   that was found for the model of the Cortex-M55: 46 cycles, which all products and moves to vectors take. Flags
   are equal after the last but one. */
#define BOTH_ROWS \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vldrb.s16 q2, [r7, #-1]\n" \
    "vmladav.s16 r8, q4, q2\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vadd.i32 q0, q0, r1\n" \
    "vmladav.s16 r12, q5, q2\n" \
    "vldrb.s16 q3, [r7, #7]\n" \
    "vmladava.s16 r12, q6, q3\n" \
    "vldrb.s16 q2, [r7, #-5]\n" \
    "vmladav.s16 r10, q4, q2\n" \
    "vand q4, q6, q6\n" \
    "vqdmulh.s32 q0, q0, r3\n" \
    "vrshl.s32 q0, r5\n" \
    "vmladava.s16 r8, q5, q3\n" \
    "vldrb.s16 q3, [r7, #3]\n" \
    "vmladav.s16 lr, q5, q2\n" \
    "vldrb.s16 q2, [r7, #0]\n" \
    "vmladava.s16 r10, q5, q3\n" \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladava.s16 lr, q6, q3\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vldrd.u64 q6, [q7, #128]!\n" \
    "vmladav.s16 r4, q5, q2\n" \
    "vadd.i32 q1, q1, r1\n" \
    "vmladav.s16 r0, q4, q2\n" \
    "vldrb.s16 q2, [r7, #-4]\n" \
    "vqdmulh.s32 q1, q1, r3\n" \
    "vldrb.s16 q3, [r7, #8]\n" \
    "vmladava.s16 r0, q5, q3\n" \
    "vrshl.s32 q1, r5\n" \
    "vmladava.s16 r4, q6, q3\n" \
    "vldrb.s16 q3, [r7, #4]\n" \
    "vmladav.s16 r6, q5, q2\n" \
    "vqmovnt.s32 q0, q1\n" \
    "ldr r8, [sp]\n" \
    "vmladav.s16 r2, q4, q2\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladava.s16 r6, q6, q3\n" \
    "vmax.s16 q0, q0, q1\n" \
    "cmp r11, r8\n" \
    "vmladava.s16 r2, q5, q3\n" \
    "vldrh.16 q1, [r11], #16\n" \
    "vpt.i16 ne, q1, zr\n" \
    "vstrht.16 q0, [r9, q1]\n"

/* Rounds but the last one, after the first row of the first, and the last. */
#define ROUNDS \
    FIRST_ROW \
    "ldr r8, [sp]\n" \
    "cmp r11, r8\n" \
    "bhi.w 3f\n" \
    "2:\n" \
    BOTH_ROWS \
    "beq.w 3f\n" \
    "le 2b\n" \
    "3:\n" \
    SECOND_ROW

/* The sums of four outputs of a row, two columns apart. Weights are q2 and q3. */
#define ROW_APART \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmladav.s16 r0, q4, q2\n" \
    "vldrd.u64 q6, [q7, #128]!\n" \
    "vmladava.s16 r0, q5, q3\n" \
    "vmladav.s16 r2, q5, q2\n" \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmladava.s16 r2, q6, q3\n" \
    "vmladav.s16 r4, q6, q2\n" \
    "vldrd.u64 q4, [q7, #128]!\n" \
    "vmladav.s16 r6, q5, q2\n" \
    "vmladava.s16 r4, q5, q3\n" \
    "vmladava.s16 r6, q4, q3\n"

/* The outputs of a round, and the sums of the next one. */
#define ROWS_APART \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vadd.i32 q0, q0, r1\n" \
    "vqdmulh.s32 q0, q0, r3\n" \
    "vrshl.s32 q0, r5\n" \
    "vmladav.s16 r2, q5, q2\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s16 r0, q4, q2\n" \
    "vldrd.u64 q6, [q7, #128]!\n" \
    "vmladava.s16 r0, q5, q3\n" \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmladav.s16 r4, q6, q2\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladava.s16 r2, q6, q3\n" \
    "vldrd.u64 q4, [q7, #128]!\n" \
    "vmladav.s16 r6, q5, q2\n" \
    "vmax.s16 q0, q0, q1\n" \
    "vmladava.s16 r4, q5, q3\n" \
    "vldrh.16 q1, [r11], #16\n" \
    "vpt.i16 ne, q1, zr\n" \
    "vstrht.16 q0, [r9, q1]\n" \
    "vmladava.s16 r6, q4, q3\n"

#define ROUNDS_APART \
    "vldrb.s16 q2, [r7]\n" \
    "vldrb.s16 q3, [r7, #8]\n" \
    "ldr lr, [sp, #8]\n" \
    ROW_APART \
    "wls lr, lr, 3f\n" \
    "2:\n" \
    ROWS_APART \
    "le lr, 2b\n" \
    "3:\n" \
    JOIN_FIRST \
    RESCALE("q0") \
    "vqmovnb.s32 q0, q0\n" \
    STORE

/* On the stack: the offsets of the last round but one; channels that are left; rounds but one; offsets; columns. Then
   the minimum. */
#define PATCHES_FUNCTION(name, ROUNDS) \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "sub sp, #52\n" \
          "vldrw.32 q0, [r0, #32]\n" \
          "ldm r0, {r7, r8, r10, r11, r12, lr}\n" \
          "mov r9, r11\n" \
          "vstrw.32 q0, [sp, #32]\n" \
          "strd lr, r12, [sp, #4]\n" \
          "strd r10, r8, [sp, #12]\n" \
          "add r10, r10, r12, lsl #4\n" \
          "sub r10, #16\n" \
          "str r10, [sp]\n" \
          "1:\n" \
          "ldrd r11, r2, [sp, #12]\n" \
          "ldrd r1, r3, [r7, #16]\n" \
          "ldr r5, [r7, #24]\n" \
          "vdup.32 q7, r2\n" \
          "add r4, r2, #64\n" \
          "vmov.32 q7[2], r4\n" \
          "add r2, #8\n" \
          "vldrd.u64 q4, [q7]\n" \
          "str r2, [sp, #16]\n" \
          ROUNDS \
          "ldr r0, [sp, #4]\n" \
          "add r7, #32\n" \
          "add r9, #2\n" \
          "subs r0, #1\n" \
          "str r0, [sp, #4]\n" \
          "bne.w 1b\n" \
          "add sp, #52\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

PATCHES_FUNCTION(cm_mve_convolve_shorts, ROUNDS);
PATCHES_FUNCTION(cm_mve_convolve_shorts_apart, ROUNDS_APART);
/* clang-format on */

/* What is computed at once: output columns [x0, x0 + width) of some rows. A band is the rows that a round has
   in common, two with stride 1; in the workspace bands are `pitch` outputs apart. */
struct part {
    int32_t x0, width, first_row, rows;
    int32_t band, pitch;
    struct cm_columns covered;
};

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Outputs from one band to the next: the padding behind a band is that before the next one. */
static int32_t band_pitch(const struct part *part, int32_t stride)
{
    const struct cm_columns *covered = &part->covered;
    const int32_t shared = least(covered->before, covered->after);
    const int32_t columns = covered->before + covered->inside + covered->after - shared;
    const int32_t pitch = (columns + stride - 1) / stride;
    return pitch > part->width ? pitch : part->width;
}

/* The lowest of the rows' offsets, if all outputs of the part are near enough to it; else CM_NO_ROW. */
static int32_t find_base(const struct cm_depthwise *d, const struct part *part)
{
    const int32_t *rows = d->out_rows + part->first_row;
    int32_t low = rows[0], high = low;
    for (int32_t r = 1; r < part->rows; ++r) {
        low = rows[r] < low ? rows[r] : low;
        high = rows[r] > high ? rows[r] : high;
    }
    return high - low <= FARTHEST - PIXEL - part->width * d->channels ? low : CM_NO_ROW;
}

/* Of each output in the lanes: rows of a band alternate, and those of a single one lie in the even lanes.
   Returns the number of rounds. */
static int32_t set_offsets(uint16_t *offsets, const struct cm_depthwise *d, const struct part *part,
                           int32_t base)
{
    const int32_t bands = (part->rows + part->band - 1) / part->band;
    const int32_t rounds = ((bands - 1) * part->pitch + part->width + OUTPUTS - 1) / OUTPUTS;
    memset(offsets, 0, (size_t)rounds * LANES * sizeof *offsets);
    for (int32_t r = 0; r < part->rows; ++r) {
        uint16_t *lane = offsets + 2 * (r / part->band * part->pitch) + r % part->band;
        int32_t offset = d->out_rows[part->first_row + r] - base + PIXEL;
        for (int32_t x = 0; x < part->width; ++x, lane += 2, offset += d->channels)
            *lane = (uint16_t)offset;
    }
    return rounds;
}

static void convolve_part(const struct cm_depthwise *d, patches_function *convolve, const struct part *part,
                          int32_t base)
{
    static const int16_t zeros[LANES];
    const struct cm_short_range *range = d->weights;
    const struct cm_columns *covered = &part->covered;
    const int32_t step = part->pitch * d->stride_width * COLUMN_BYTES;
    int8_t *const inside = (int8_t *)d->workspace + covered->before * COLUMN_BYTES;
    uint16_t offsets[MOST_ROUNDS * LANES];
    struct patches patches = {
        .weights = (const int8_t *)(range + 1) + WEIGHTS_AT,
        .columns = d->workspace,
        .offsets = offsets,
        .out = d->out + base + part->x0 * d->channels - PIXEL,
        .rounds = set_offsets(offsets, d, part, base) - 1,
    };
    vst1q_s16(patches.minimum, vdupq_n_s16((int16_t)range->minimum));
    const int32_t offset = (covered->first + covered->before) * d->channels;
    struct four_rows bands[MOST_BANDS], *end = bands;
    int8_t *columns = inside;
    for (int32_t r = 0; r < part->rows; r += part->band, columns += step) {
        const int32_t needed = least(part->band, part->rows - r) + 2; /* two rows have stride 1 */
        const int32_t first = (part->first_row + r) * d->stride_height;
        find_rows(end++, d, first, needed, offset, (const int8_t *)zeros);
        memset(columns - covered->before * COLUMN_BYTES, 0, (size_t)(covered->before * COLUMN_BYTES));
        memset(columns + covered->inside * COLUMN_BYTES, 0, (size_t)(covered->after * COLUMN_BYTES));
    }
    for (int32_t left = d->channels / PIXEL; left > 0; left -= LANES) {
        columns = inside;
        for (struct four_rows *four = bands; four < end; ++four, columns += step)
            interleave_shorts(four, columns, COLUMN_BYTES, covered->inside);
        patches.channels = least(left, LANES);
        convolve(&patches);
        patches.out += LANES * PIXEL;
        patches.weights += LANES * CHANNEL_BYTES;
    }
}

/* Outputs above the maximum. */
static void limit(const struct cm_depthwise *d, int32_t maximum)
{
    const int16x8_t most = vdupq_n_s16((int16_t)maximum);
    const int32_t count = d->out_width * d->channels / PIXEL;
    for (int32_t r = 0; r < d->band; ++r) {
        int16_t *out = (int16_t *)(void *)(d->out + d->out_rows[r]);
        for (int32_t i = 0; i < count; i += LANES) {
            const mve_pred16_t tail = vctp16q((uint32_t)(count - i));
            vst1q_p_s16(out + i, vminq_s16(vld1q_z_s16(out + i, tail), most), tail);
        }
    }
}

/* Output columns [x0, x0 + width) of all rows, as many rows at once as the workspace and the table hold. */
static void convolve_columns(const struct cm_depthwise *d, patches_function *loop, int32_t x0, int32_t width)
{
    struct part part = {.x0 = x0, .width = width, .band = 1};
    if (d->stride_width == 1 && d->stride_height == 1)
        part.band = 2;
    part.covered = cm_covered_columns(d, 3, x0, width);
    part.pitch = band_pitch(&part, d->stride_width);
    const int32_t most = least(least(d->chunk, MOST_ROUNDS * OUTPUTS) / part.pitch, MOST_BANDS);
    const int32_t rows = part.band * (most > 1 ? most : 1);
    for (; part.first_row < d->band; part.first_row += part.rows) {
        int32_t base;
        part.rows = least(rows, d->band - part.first_row);
        while ((base = find_base(d, &part)) == CM_NO_ROW)
            --part.rows;
        convolve_part(d, loop, &part, base);
    }
}

static void convolve(const struct cm_depthwise *d, patches_function *loop)
{
    const struct cm_short_range *range = d->weights;
    const int32_t most = least(MOST_ROUNDS * OUTPUTS, (FARTHEST - PIXEL) / d->channels);
    const int32_t chunk = least(d->chunk, most);
    for (int32_t x = 0; x < d->out_width; x += chunk)
        convolve_columns(d, loop, x, least(chunk, d->out_width - x));
    if (range->maximum != INT16_MAX)
        limit(d, range->maximum);
}

void cm_isa_depthwise_3x3_s16(const struct cm_depthwise *d)
{
    convolve(d, cm_mve_convolve_shorts);
}

void cm_isa_depthwise_3x3_s16_rectified(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s16(d);
}

void cm_isa_depthwise_3x3_s16_stride_2(const struct cm_depthwise *d)
{
    convolve(d, cm_mve_convolve_shorts_apart);
}

void cm_isa_depthwise_3x3_s16_stride_2_rectified(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s16_stride_2(d);
}
