/* Depthwise convolution with MVE for any kernel: 16 channels in the lanes, two taps at a time. Assembly,
   because gcc spills the sums of 16 channels, which take half of the vector registers. */
#include "cmrt/assembly.h"
#include "cmrt/taps.h"

#include <stddef.h>
#include <string.h>

enum { LANES = 16 };

/* One output pixel. Packed weights are blocks of 16 channels: biases, multipliers, shifts, then the weights
   of an even number of taps. Biases, multipliers and shifts are ordered by channel modulo 4 as 0, 2, 1, 3, as
   widening splits them; the weights are not. The products of the two taps of a pair fit 16 bits in sum; where
   they would not, the host puts a zero between them. */
struct pixel {
    const int8_t *weights; /* r1 */
    const int8_t **taps;   /* r4: addresses of the taps, advanced to the next channels */
    int32_t pairs;         /* r6: of taps */
    int8_t *out;           /* r7 */
    int32_t channels;      /* r8 */
    int32_t zero_point;    /* r9 */
    int32_t minimum;       /* r11 */
    int32_t maximum;       /* r12 */
};

/* clang-format off */
#define RESCALE_RIGHT(sum, multiplier, shift) \
    "vldrw.32 q0, [r0, #" multiplier "]\n" \
    "vqrdmulh.s32 " sum ", " sum ", q0\n" \
    "vqdmlah.s32 " sum ", " sum ", r10\n" \
    "vldrw.32 q0, [r0, #" shift "]\n" \
    "vrshl.s32 " sum ", " sum ", q0\n"

#define RESCALE_GENERAL(sum, multiplier, shift) \
    "vldrw.32 q0, [r0, #" shift "]\n" \
    "vmov.i32 q2, #0\n" \
    "vmax.s32 q1, q0, q2\n" \
    "vmin.s32 q0, q0, q2\n" \
    "vshl.s32 " sum ", " sum ", q1\n" \
    "vldrw.32 q1, [r0, #" multiplier "]\n" \
    "vqrdmulh.s32 " sum ", " sum ", q1\n" \
    "vand q1, " sum ", q0\n" \
    "vqdmlah.s32 " sum ", q1, r10\n" \
    "vrshl.s32 " sum ", " sum ", q0\n"

/* A function of a pixel; for the rounding see product.h. */
#define PIXEL_FUNCTION(name, RESCALE) \
    void name(const struct pixel *pixel); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "ldm r0, {r1, r4, r6, r7, r8, r9, r11, r12}\n" \
          "mov r10, #1\n" \
          "1:\n" \
          "mov r0, r1\n" \
          "vldrw.32 q4, [r1]\n" \
          "vldrw.32 q5, [r1, #16]\n" \
          "vldrw.32 q6, [r1, #32]\n" \
          "vldrw.32 q7, [r1, #48]\n" \
          "add r1, #192\n" \
          "mov r5, r4\n" \
          "dls lr, r6\n" \
          \
          "2:\n" \
          "ldrd r2, r3, [r5]\n" \
          "vldrb.8 q0, [r2], #16\n" \
          "vldrw.32 q1, [r1], #32\n" \
          "vmullb.s8 q2, q0, q1\n" \
          "vmullt.s8 q0, q0, q1\n" \
          "vldrb.8 q1, [r3], #16\n" \
          "vldrw.32 q3, [r1, #-16]\n" \
          "vmullb.s8 q1, q1, q3\n" \
          "vadd.i16 q2, q2, q1\n" \
          "vldrb.8 q1, [r3, #-16]\n" \
          "vmullt.s8 q1, q1, q3\n" \
          "vadd.i16 q0, q0, q1\n" \
          "strd r2, r3, [r5], #8\n" \
          "vmovlb.s16 q1, q2\n" \
          "vadd.i32 q4, q4, q1\n" \
          "vmovlt.s16 q1, q2\n" \
          "vadd.i32 q5, q5, q1\n" \
          "vmovlb.s16 q1, q0\n" \
          "vadd.i32 q6, q6, q1\n" \
          "vmovlt.s16 q1, q0\n" \
          "vadd.i32 q7, q7, q1\n" \
          "le lr, 2b\n" \
          \
          RESCALE("q4", "64", "128") \
          RESCALE("q5", "80", "144") \
          RESCALE("q6", "96", "160") \
          RESCALE("q7", "112", "176") \
          "vqmovnb.s32 q4, q4\n" \
          "vqmovnt.s32 q4, q5\n" \
          "vqadd.s16 q4, q4, r9\n" \
          "vqmovnb.s32 q6, q6\n" \
          "vqmovnt.s32 q6, q7\n" \
          "vqadd.s16 q6, q6, r9\n" \
          "vqmovnb.s16 q4, q4\n" \
          "vqmovnt.s16 q4, q6\n" \
          "vdup.8 q0, r11\n" \
          "vmax.s8 q4, q4, q0\n" \
          "vdup.8 q0, r12\n" \
          "vmin.s8 q4, q4, q0\n" \
          "vctp.8 r8\n" \
          "vpst\n" \
          "vstrbt.8 q4, [r7], #16\n" \
          "subs r8, #16\n" \
          "bgt.w 1b\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

PIXEL_FUNCTION(cm_mve_depthwise_right, RESCALE_RIGHT);
PIXEL_FUNCTION(cm_mve_depthwise_general, RESCALE_GENERAL);
/* clang-format on */

void cm_isa_depthwise_s8(const struct cm_depthwise *d)
{
    int32_t area = d->kernel_height * d->kernel_width;
    int32_t slots = (area + 1) & ~1;
    const int8_t **taps = d->workspace;
    int8_t *padding = (int8_t *)(taps + slots);
    memset(padding, d->input_zero_point, (size_t)((d->channels + LANES - 1) & -LANES));
    struct pixel pixel = {
        .weights = d->weights,
        .taps = taps,
        .pairs = slots / 2,
        .channels = d->channels,
        .zero_point = d->output.zero_point,
        .minimum = d->output.minimum,
        .maximum = d->output.maximum,
    };
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        pixel.out = d->out + d->out_rows[r];
        for (int32_t x = 0; x < d->out_width; ++x, pixel.out += d->channels) {
            taps[slots - 1] = padding;
            cm_find_taps(d, rows, x * d->stride_width - d->pad_left, padding, taps);
            if (d->output.rounding == CM_ROUND_GENERAL)
                cm_mve_depthwise_general(&pixel);
            else
                cm_mve_depthwise_right(&pixel);
        }
    }
}
