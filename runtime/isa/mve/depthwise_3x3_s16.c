/* 3x3 depthwise convolution of int16 images with MVE: one channel at a time, its pixels in the lanes.

   Eight channels of four input rows are first interleaved in the workspace, column by column: there the four
   rows of a column of one channel are 64 bits, and one gather loads two columns. With stride 1 three such
   patches give two rows of four outputs, with weights shifted by a column and by a row; with stride 2 five
   give four outputs of a row. Packed weights are those of depthwise_loops.h: bytes, widened as they are
   loaded. Rescaling is requantize_s64 for sums of 32 bits: VQDMULH by the multiplier times 2^15, VRSHL by the
   rest of the shift. */
#include "cmrt/assembly.h"
#include "cmrt/short_output.h"
#include "cmrt/taps.h"

#include <arm_mve.h>
#include <stdbool.h>
#include <string.h>

enum {
    LANES = 8,
    ROWS = 4,
    COLUMN_BYTES = LANES * ROWS * (int)sizeof(int16_t),
    PIXEL = (int)sizeof(int16_t),
    OUTPUTS = 4, /* of a row, in a round */
    MOST_ROUNDS = 16,
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
    int32_t rounds, channels;
    int32_t unused[2];
    int16_t minimum[LANES];
};
typedef void patches_function(const struct patches *patches);
patches_function cm_mve_convolve_shorts, cm_mve_convolve_shorts_apart;

/* clang-format off */
/* Eight outputs: columns are q4, q5 and q6; the sums of the first row are r0, r2, r4 and r6. The order is the best
   that was found for the model of the Cortex-M55. */
#define ROUND \
    "vldrb.s16 q2, [r7, #0]\n" \
    "vmladav.s16 r0, q4, q2\n" \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmladav.s16 r4, q5, q2\n" \
    "vldrb.s16 q2, [r7, #-4]\n" \
    "vmladav.s16 r2, q4, q2\n" \
    "vldrb.s16 q3, [r7, #8]\n" \
    "vmladava.s16 r0, q5, q3\n" \
    "vldrd.u64 q6, [q7, #128]!\n" \
    "vmladav.s16 r6, q5, q2\n" \
    "vldrb.s16 q2, [r7, #-1]\n" \
    "vmladav.s16 r8, q4, q2\n" \
    "vmladav.s16 r12, q5, q2\n" \
    "vmladava.s16 r4, q6, q3\n" \
    "vldrb.s16 q3, [r7, #4]\n" \
    "vmladava.s16 r2, q5, q3\n" \
    "vldrb.s16 q2, [r7, #-5]\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmladava.s16 r6, q6, q3\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vldrb.s16 q3, [r7, #7]\n" \
    "vmladava.s16 r8, q5, q3\n" \
    "vmladava.s16 r12, q6, q3\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vadd.i32 q0, q0, r1\n" \
    "vqdmulh.s32 q0, q0, r3\n" \
    "vldrb.s16 q3, [r7, #3]\n" \
    "vmladav.s16 lr, q5, q2\n" \
    "vrshl.s32 q0, r5\n" \
    "vmladav.s16 r10, q4, q2\n" \
    "vmladava.s16 lr, q6, q3\n" \
    "vmladava.s16 r10, q5, q3\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vadd.i32 q1, q1, r1\n" \
    "vqdmulh.s32 q1, q1, r3\n" \
    "vrshl.s32 q1, r5\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vldrh.16 q1, [r11], #16\n" \
    "vldrh.16 q2, [sp, #32]\n" \
    "ldr r0, [sp]\n" \
    "vmax.s16 q0, q0, q2\n" \
    "vand q4, q6, q6\n" \
    "subs r0, #1\n" \
    "str r0, [sp]\n" \
    "vpt.i16 ne, q1, zr\n" \
    "vstrht.16 q0, [r9, q1]\n"

/* On the stack: rounds that are left; channels that are; rounds; offsets; columns. Then the minimum. */
#define PATCHES_FUNCTION(name, START, LOOP) \
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
          "1:\n" \
          "ldrd r11, r2, [sp, #12]\n" \
          "ldrd r1, r3, [r7, #16]\n" \
          "ldr r5, [r7, #24]\n" \
          "vdup.32 q7, r2\n" \
          "add r4, r2, #64\n" \
          "vmov.32 q7[2], r4\n" \
          "add r2, #8\n" \
          "ldr r0, [sp, #8]\n" \
          "vldrd.u64 q4, [q7]\n" \
          "str r2, [sp, #16]\n" \
          START \
          "2:\n" \
          LOOP \
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

PATCHES_FUNCTION(cm_mve_convolve_shorts, "str r0, [sp]\n", ROUND "bne.w 2b\n");

/* Four outputs of a row, two columns apart. */
#define ROUND_APART \
    "vldrd.u64 q5, [q7, #128]!\n" \
    "vmladav.s16 r0, q4, q2\n" \
    "vldrd.u64 q6, [q7, #128]!\n" \
    "vmladava.s16 r0, q5, q3\n" \
    "vmladav.s16 r2, q5, q2\n" \
    "vldrd.u64 q0, [q7, #128]!\n" \
    "vmladava.s16 r2, q6, q3\n" \
    "vmladav.s16 r4, q6, q2\n" \
    "vldrd.u64 q4, [q7, #128]!\n" \
    "vmladav.s16 r6, q0, q2\n" \
    "vmladava.s16 r4, q0, q3\n" \
    "vmladava.s16 r6, q4, q3\n" \
    "vldrh.16 q1, [r11], #16\n" \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vldrh.16 q5, [sp, #32]\n" \
    "vadd.i32 q0, q0, r1\n" \
    "vqdmulh.s32 q0, q0, r3\n" \
    "vrshl.s32 q0, r5\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmax.s16 q0, q0, q5\n" \
    "vpt.i16 ne, q1, zr\n" \
    "vstrht.16 q0, [r9, q1]\n"

PATCHES_FUNCTION(cm_mve_convolve_shorts_apart,
                 "vldrb.s16 q2, [r7]\n" "vldrb.s16 q3, [r7, #8]\n" "dls lr, r0\n",
                 ROUND_APART "le lr, 2b\n");
/* clang-format on */

/* Output columns [x0, x0 + width) of one row, or of two that follow each other with stride 1. */
struct part {
    int32_t x0, width, first_row, rows;
    struct cm_columns covered;
};

/* Of each output in the lanes: rows alternate, and those of a single one lie in the even lanes. */
static void set_offsets(uint16_t *offsets, const struct cm_depthwise *d, const struct part *part,
                        const int32_t *rows, int32_t base)
{
    for (int32_t x = 0; x < (part->width + OUTPUTS - 1) / OUTPUTS * OUTPUTS; ++x)
        for (int32_t r = 0; r < 2; ++r) {
            const bool is_inside = x < part->width && r < part->rows;
            *offsets++ = is_inside ? (uint16_t)(rows[r] - base + x * d->channels + PIXEL) : 0;
        }
}

/* Columns of eight channels, from `offset` of each row on; rows outside of the image are zeros. */
static void interleave(const struct cm_depthwise *d, const struct part *part, int32_t offset,
                       int16_t *columns)
{
    static const int16_t zeros[LANES];
    const int32_t first = part->first_row * d->stride_height, needed = part->rows + 2;
    const int16_t *at[ROWS];
    int32_t step[ROWS];
    for (int32_t r = 0; r < ROWS; ++r) {
        const int32_t row = r < needed ? d->input_rows[first + r] : CM_NO_ROW;
        at[r] = row == CM_NO_ROW ? zeros : (const int16_t *)(const void *)(d->input + row + offset);
        step[r] = row == CM_NO_ROW ? 0 : d->channels / PIXEL;
    }
    for (int32_t left = part->covered.inside; left > 0; --left) {
        int16x8x4_t four;
        four.val[0] = vldrhq_s16(at[0]);
        four.val[1] = vldrhq_s16(at[1]);
        four.val[2] = vldrhq_s16(at[2]);
        four.val[3] = vldrhq_s16(at[3]);
        vst4q_s16(columns, four);
        at[0] += step[0];
        at[1] += step[1];
        at[2] += step[2];
        at[3] += step[3];
        columns += COLUMN_BYTES / PIXEL;
    }
}

static void convolve_part(const struct cm_depthwise *d, patches_function *convolve, const struct part *part)
{
    const struct cm_short_range *range = d->weights;
    const struct cm_columns *covered = &part->covered;
    const int32_t *rows = d->out_rows + part->first_row;
    const int32_t base = part->rows > 1 && rows[1] < rows[0] ? rows[1] : rows[0];
    int8_t *columns = d->workspace, *inside = columns + covered->before * COLUMN_BYTES;
    uint16_t offsets[MOST_ROUNDS * LANES];
    struct patches patches = {
        .weights = (const int8_t *)(range + 1) + WEIGHTS_AT,
        .columns = columns,
        .offsets = offsets,
        .out = d->out + base + part->x0 * d->channels - PIXEL,
        .rounds = (part->width + OUTPUTS - 1) / OUTPUTS,
    };
    vst1q_s16(patches.minimum, vdupq_n_s16((int16_t)range->minimum));
    set_offsets(offsets, d, part, rows, base);
    memset(columns, 0, (size_t)(covered->before * COLUMN_BYTES));
    memset(inside + covered->inside * COLUMN_BYTES, 0, (size_t)(covered->after * COLUMN_BYTES));
    int32_t offset = (covered->first + covered->before) * d->channels;
    for (int32_t left = d->channels / PIXEL; left > 0; left -= LANES) {
        interleave(d, part, offset, (int16_t *)(void *)inside);
        patches.channels = left < LANES ? left : LANES;
        convolve(&patches);
        offset += LANES * PIXEL;
        patches.out += LANES * PIXEL;
        patches.weights += LANES * CHANNEL_BYTES;
    }
}

/* Whether two rows of outputs are near enough to each other for one table of offsets. */
static bool are_near(const struct cm_depthwise *d, int32_t row, int32_t width)
{
    const int32_t distance = d->out_rows[row + 1] - d->out_rows[row];
    const int32_t most = FARTHEST - PIXEL - width * d->channels;
    return distance <= most && -distance <= most;
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

static void convolve(const struct cm_depthwise *d, patches_function *loop)
{
    const struct cm_short_range *range = d->weights;
    const int32_t most = (FARTHEST - PIXEL) / d->channels;
    int32_t chunk = d->chunk < MOST_ROUNDS * OUTPUTS ? d->chunk : MOST_ROUNDS * OUTPUTS;
    chunk = chunk < most ? chunk : most;
    for (int32_t x = 0; x < d->out_width; x += chunk) {
        const int32_t left = d->out_width - x;
        struct part part = {.x0 = x, .width = left < chunk ? left : chunk};
        part.covered = cm_covered_columns(d, 3, x, part.width);
        for (; part.first_row < d->band; part.first_row += part.rows) {
            const bool is_pair =
                d->stride_width == 1 && d->stride_height == 1 && part.first_row + 1 < d->band;
            part.rows = is_pair && are_near(d, part.first_row, part.width) ? 2 : 1;
            convolve_part(d, loop, &part);
        }
    }
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
