/* 5x5 depthwise convolution with MVE, of stride 1 or 2: one channel at a time, its pixels in the lanes.

   As for 3x3 kernels, sixteen channels of input rows are first interleaved; here eight rows, two words per
   column and channel. The words of four columns are one vector, both words of the fifth column another one.
   They give four rows of outputs with stride 1 and two with stride 2: the weights of the kernel, shifted by
   as many bytes as the row of outputs lies lower, meet the pixels of that row. */
#include "cmrt/assembly.h"
#include "interleave.h"

#include <stddef.h>
#include <string.h>

INTERLEAVE(interleave, "8")

enum { LANES = 16, COLUMN_BYTES = 128, CHANNEL_BYTES = 64 };

/* Operands of the assembly: all channels of a block. Packed weights are 64 bytes per channel: rows 0 to 3
   of columns 0 to 3, rows 1 to 4 of them, the same two of column 4 and eight zeros; bias, multiplier, and as
   bytes the shift and three zeros; a word that is not used. */
struct patches {
    int32_t bias, multiplier, shift; /* r0, r2, r4: of the channel, set by the assembly */
    int32_t one;                     /* r6 */
    int32_t out_step;                /* r8: from one round of eight outputs to the next */
    const int8_t *weights;           /* r1 */
    int8_t *out;                     /* r7 */
    uint32_t counter;                /* r11: whole rounds, and in the low half the output's zero point */
    const int8_t *columns;           /* in the workspace */
    const int8_t *weights_end;
    int32_t extra_address,
        extra_out;                  /* to a last round that overlaps the previous one; 0 for no such round */
    int32_t next_address, next_out; /* from the end of one channel to the start of the next */
    int32_t rows;                   /* valid rows of outputs */
    int32_t unused;
    uint16_t offsets[8];
    int16_t row[8];       /* of the outputs of a round */
    int32_t shifts[4][4]; /* of the weights of column 4, for each row of outputs */
};
_Static_assert(offsetof(struct patches, weights) == 20 && offsetof(struct patches, columns) == 32 &&
                   offsetof(struct patches, next_address) == 48 && offsetof(struct patches, offsets) == 64 &&
                   offsetof(struct patches, shifts) == 96,
               "used in assembly");

/* clang-format off */
/* Four rows of two columns of outputs. */
#define SUMS_STRIDE_1 \
    "vldrw.u32 q0, [q5, #256]!\n" \
    "vldrw.u32 q1, [q5, #128]\n" \
    "vldrw.32 q3, [r1]\n" \
    "vmladav.s8 r0, q0, q3\n" \
    "vmladav.s8 r8, q1, q3\n" \
    "vshl.i32 q2, q3, #8\n" \
    "vmladav.s8 r2, q0, q2\n" \
    "vmladav.s8 r10, q1, q2\n" \
    "vshl.i32 q2, q3, #16\n" \
    "vmladav.s8 r4, q0, q2\n" \
    "vmladav.s8 r12, q1, q2\n" \
    "vshl.i32 q2, q3, #24\n" \
    "vmladav.s8 r6, q0, q2\n" \
    "vmladav.s8 lr, q1, q2\n" \
    "vldrw.u32 q0, [q5, #64]\n" \
    "vldrw.u32 q1, [q5, #192]\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    "vmladava.s8 r6, q0, q3\n" \
    "vmladava.s8 lr, q1, q3\n" \
    "vshr.u32 q2, q3, #8\n" \
    "vmladava.s8 r4, q0, q2\n" \
    "vmladava.s8 r12, q1, q2\n" \
    "vshr.u32 q2, q3, #16\n" \
    "vmladava.s8 r2, q0, q2\n" \
    "vmladava.s8 r10, q1, q2\n" \
    "vshr.u32 q2, q3, #24\n" \
    "vmladava.s8 r0, q0, q2\n" \
    "vmladava.s8 r8, q1, q2\n" \
    "vldrw.u32 q0, [q6, #256]!\n" \
    "vldrw.u32 q1, [q6, #128]\n" \
    "vldrw.32 q3, [r1, #32]\n" \
    "vldrw.32 q4, [r9, #96]\n" \
    "vshl.u32 q2, q3, q4\n" \
    "vmladava.s8 r0, q0, q2\n" \
    "vmladava.s8 r8, q1, q2\n" \
    "vldrw.32 q4, [r9, #112]\n" \
    "vshl.u32 q2, q3, q4\n" \
    "vmladava.s8 r2, q0, q2\n" \
    "vmladava.s8 r10, q1, q2\n" \
    "vldrw.32 q4, [r9, #128]\n" \
    "vshl.u32 q2, q3, q4\n" \
    "vmladava.s8 r4, q0, q2\n" \
    "vmladava.s8 r12, q1, q2\n" \
    "vldrw.32 q4, [r9, #144]\n" \
    "vshl.u32 q2, q3, q4\n" \
    "vmladava.s8 r6, q0, q2\n" \
    "vmladava.s8 lr, q1, q2\n"

/* Two rows of two columns of outputs. */
#define QUARTET(sum0, sum1, sum2, sum3) \
    "vldrw.u32 q0, [q5, #256]!\n" \
    "vldrw.u32 q1, [q5, #256]!\n" \
    "vldrw.32 q3, [r1]\n" \
    "vmladav.s8 " sum0 ", q0, q3\n" \
    "vmladav.s8 " sum2 ", q1, q3\n" \
    "vshl.i32 q2, q3, #16\n" \
    "vmladav.s8 " sum1 ", q0, q2\n" \
    "vmladav.s8 " sum3 ", q1, q2\n" \
    "vldrw.u32 q0, [q5, #-192]\n" \
    "vldrw.u32 q1, [q5, #64]\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    "vshr.u32 q2, q3, #24\n" \
    "vmladava.s8 " sum0 ", q0, q2\n" \
    "vmladava.s8 " sum2 ", q1, q2\n" \
    "vshr.u32 q2, q3, #8\n" \
    "vmladava.s8 " sum1 ", q0, q2\n" \
    "vmladava.s8 " sum3 ", q1, q2\n" \
    "vldrw.u32 q0, [q6, #256]!\n" \
    "vldrw.u32 q1, [q6, #256]!\n" \
    "vldrw.32 q3, [r1, #32]\n" \
    "vldrw.32 q4, [r9, #96]\n" \
    "vshl.u32 q2, q3, q4\n" \
    "vmladava.s8 " sum0 ", q0, q2\n" \
    "vmladava.s8 " sum2 ", q1, q2\n" \
    "vldrw.32 q4, [r9, #112]\n" \
    "vshl.u32 q2, q3, q4\n" \
    "vmladava.s8 " sum1 ", q0, q2\n" \
    "vmladava.s8 " sum3 ", q1, q2\n"

#define SUMS_STRIDE_2 QUARTET("r0", "r2", "r4", "r6") QUARTET("r8", "r10", "r12", "lr")

/* For the rounding see product.h. */
#define PATCHES_FUNCTION(name, SUMS) \
    void name(struct patches *patches); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "mov r9, r0\n" \
          "ldrd r1, r7, [r9, #20]\n" \
          "ldr r0, [r9, #32]\n" \
          "sub r0, #256\n" \
          "movs r2, #0\n" \
          "vidup.u32 q5, r2, #8\n" \
          "vshl.i32 q6, q5, #3\n" /* 0, 64, 128, 192: the words of column 4, and two unused ones */ \
          "vshl.i32 q5, q5, #4\n" /* 0, 128, 256, 384: columns 0 to 3 */ \
          "vadd.i32 q5, q5, r0\n" \
          "add r0, #512\n" \
          "vadd.i32 q6, q6, r0\n" \
          "vldrh.16 q7, [r9, #64]\n" \
          "vldrh.16 q0, [r9, #80]\n" \
          "ldr r0, [r9, #56]\n" \
          "vcmp.s16 lt, q0, r0\n" \
          \
          "1:\n" \
          "ldrd r0, r2, [r1, #48]\n" \
          "ldr r4, [r1, #56]\n" \
          "stm r9, {r0, r2, r4}\n" \
          "ldr r11, [r9, #28]\n" \
          "ldr r3, [r9, #40]\n" \
          "2:\n" \
          SUMS \
          "vmov q0[2], q0[0], r0, r4\n" \
          "vmov q0[3], q0[1], r2, r6\n" \
          "vmov q1[2], q1[0], r8, r12\n" \
          "vmov q1[3], q1[1], r10, lr\n" \
          "ldm r9, {r0, r2, r4, r6, r8}\n" \
          "vadd.i32 q0, q0, r0\n" \
          "vadd.i32 q1, q1, r0\n" \
          "vqrdmulh.s32 q0, q0, r2\n" \
          "vqrdmulh.s32 q1, q1, r2\n" \
          "vqdmlah.s32 q0, q0, r6\n" \
          "vqdmlah.s32 q1, q1, r6\n" \
          "vrshl.s32 q0, r4\n" \
          "vrshl.s32 q1, r4\n" \
          "vqmovnb.s32 q0, q0\n" \
          "vqmovnt.s32 q0, q1\n" \
          "vqadd.s16 q0, q0, r11\n" \
          "vqmovnb.s16 q0, q0\n" \
          "vpst\n" \
          "vstrbt.16 q0, [r7, q7]\n" \
          "add r7, r8\n" \
          "subs r11, #0x10000\n" \
          "bcs.w 2b\n" \
          "cbz r3, 3f\n" \
          "vadd.i32 q5, q5, r3\n" \
          "vadd.i32 q6, q6, r3\n" \
          "movs r3, #0\n" \
          "ldr r0, [r9, #44]\n" \
          "add r7, r0\n" \
          "uxth r11, r11\n" \
          "b.w 2b\n" \
          "3:\n" \
          "ldrd r0, r2, [r9, #48]\n" \
          "vadd.i32 q5, q5, r0\n" \
          "vadd.i32 q6, q6, r0\n" \
          "add r7, r2\n" \
          "add r1, #64\n" \
          "ldr r0, [r9, #36]\n" \
          "cmp r1, r0\n" \
          "bne.w 1b\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

PATCHES_FUNCTION(cm_mve_5x5_stride_1, SUMS_STRIDE_1);
PATCHES_FUNCTION(cm_mve_5x5_stride_2, SUMS_STRIDE_2);
/* clang-format on */

/* The outputs of a round, the even ones and then the odd ones: four rows of two columns, or two of four. */
static void set_round(struct patches *patches, const struct cm_depthwise *d)
{
    int32_t rows = d->stride_width == 1 ? 4 : 2;
    for (int32_t i = 0; i < 8; ++i) {
        int32_t index = i / 2 + 4 * (i % 2);
        int32_t row = index % rows, column = index / rows;
        int32_t valid = row < d->band ? row : 0;
        patches->row[i] = (int16_t)row;
        patches->offsets[i] = (uint16_t)(d->out_rows[valid] - d->out_rows[0] + column * d->channels);
    }
    for (int32_t row = 0; row < rows; ++row) {
        int32_t bits = 8 * d->stride_height * row;
        patches->shifts[row][0] = bits;
        patches->shifts[row][1] = bits - 24;
        patches->shifts[row][2] = patches->shifts[row][3] = 0;
    }
}

/* Output columns [x0, x0 + width) of all channels. */
static void convolve_columns(const struct cm_depthwise *d, struct patches *patches, int32_t x0, int32_t width)
{
    int32_t per_round = d->stride_width == 1 ? 2 : 4;
    int32_t column_step = d->stride_width * COLUMN_BYTES;
    int32_t rounds = width / per_round;
    int32_t back = width % per_round == 0 ? 0 : per_round - width % per_round;
    int32_t columns_done = width + back;
    patches->counter = (uint32_t)(rounds - 1) << 16 | (uint16_t)d->output.zero_point;
    patches->out_step = per_round * d->channels;
    patches->extra_address = -back * column_step;
    patches->extra_out = -back * d->channels;
    patches->next_address = 4 - (columns_done - back) * column_step;
    patches->next_out = 1 - (columns_done - back) * d->channels;

    int8_t *columns = d->workspace;
    struct cm_columns covered = cm_covered_columns(d, 5, x0, width);
    int8_t *inside = columns + covered.before * COLUMN_BYTES;
    memset(columns, d->input_zero_point, (size_t)(covered.before * COLUMN_BYTES));
    memset(inside + covered.inside * COLUMN_BYTES, d->input_zero_point,
           (size_t)(covered.after * COLUMN_BYTES));

    int8_t padding[LANES];
    memset(padding, d->input_zero_point, sizeof padding);
    int32_t needed = (d->band - 1) * d->stride_height + 5;
    int32_t offset = (covered.first + covered.before) * d->channels;
    struct four_rows upper, lower;
    find_rows(&upper, d, 0, needed, offset, padding);
    find_rows(&lower, d, 4, needed - 4, offset, padding);
    for (int32_t c = 0; c < d->channels; c += LANES) {
        interleave(&upper, inside, COLUMN_BYTES, covered.inside);
        interleave(&lower, inside + COLUMN_BYTES / 2, COLUMN_BYTES, covered.inside);
        int32_t channels = d->channels - c < LANES ? d->channels - c : LANES;
        patches->weights = (const int8_t *)d->weights + c * CHANNEL_BYTES;
        patches->weights_end = patches->weights + channels * CHANNEL_BYTES;
        patches->columns = columns;
        (d->stride_width == 1 ? cm_mve_5x5_stride_1 : cm_mve_5x5_stride_2)(patches);
        patches->out += LANES;
    }
}

static void convolve_band(const struct cm_depthwise *d)
{
    struct patches patches = {.one = 1, .rows = d->band};
    set_round(&patches, d);
    for (int32_t x = 0; x < d->out_width; x += d->chunk) {
        int32_t left = d->out_width - x;
        patches.out = d->out + d->out_rows[0] + x * d->channels;
        convolve_columns(d, &patches, x, left < d->chunk ? left : d->chunk);
    }
}

void cm_isa_depthwise_5x5_s8(const struct cm_depthwise *d)
{
    struct cm_depthwise part = *d;
    for (int32_t left = d->band; left > 0; left -= part.band) {
        /* A row at the start of the ring begins another part. */
        part.band = 1;
        while (part.band < left && part.out_rows[part.band] > part.out_rows[part.band - 1])
            ++part.band;
        convolve_band(&part);
        part.input_rows += part.band * d->stride_height;
        part.out_rows += part.band;
    }
}
