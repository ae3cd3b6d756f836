/* Depthwise convolution with MVE for any kernel: sixteen outputs that follow each other in the lanes, two
   taps at a time. Assembly, because gcc spills the sums of 16 outputs, which take half of the vector
   registers. */
#include "cmrt/assembly.h"
#include "cmrt/elementwise.h"
#include "cmrt/taps.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { LANES = 16 };

/* Outputs that follow each other: of a pixel, or of several side by side.

   Packed weights are blocks of 16 outputs: biases, multipliers, shifts, then the weights of an even number of
   taps, then how many bytes after this block the next one is: the first follows the last. Divided outputs
   have, instead of shifts to the right by up to 11 bits, what to multiply by, as in mul_right_s8.c. Biases,
   multipliers and shifts are ordered by output modulo 4 as 0, 2, 1, 3, as widening splits them; the weights
   are not. The products of the two taps of a pair fit 16 bits in sum; where they would not, the host puts a
   zero between them. */
struct outputs {
    const int8_t *weights; /* r1 */
    const int8_t **taps;   /* r4: addresses of the taps, advanced to the next outputs */
    int32_t pairs;         /* r6: of taps */
    int8_t *out;           /* r7 */
    int32_t count;         /* r8 */
    int32_t zero_point;    /* r9 */
    int32_t minimum;       /* r11 */
    int32_t maximum;       /* r12 */
};
typedef void outputs_function(const struct outputs *outputs);

/* clang-format off */
#define RESCALE_RIGHT(sum, multiplier, shift) \
    "vldrw.32 q0, [r1, #" multiplier "]\n" \
    "vqrdmulh.s32 " sum ", " sum ", q0\n" \
    "vqdmlah.s32 " sum ", " sum ", r10\n" \
    "vldrw.32 q0, [r1, #" shift "]\n" \
    "vrshl.s32 " sum ", " sum ", q0\n"

#define RESCALE_GENERAL(sum, multiplier, shift) \
    "vldrw.32 q0, [r1, #" shift "]\n" \
    "vmov.i32 q2, #0\n" \
    "vmax.s32 q1, q0, q2\n" \
    "vmin.s32 q0, q0, q2\n" \
    "vshl.s32 " sum ", " sum ", q1\n" \
    "vldrw.32 q1, [r1, #" multiplier "]\n" \
    "vqrdmulh.s32 " sum ", " sum ", q1\n" \
    "vand q1, " sum ", q0\n" \
    "vqdmlah.s32 " sum ", q1, r10\n" \
    "vrshl.s32 " sum ", " sum ", q0\n"

/* q2 and q0 = the products of the first two taps; first, second: pointers, advanced. Biases to q4 to q7. */
#define START(first, second) \
    "vldrb.8 q0, [" first "], #16\n" \
    "vldrw.32 q1, [r1, #192]\n" \
    "vmullb.s8 q2, q0, q1\n" \
    "vldrw.32 q3, [r1, #208]\n" \
    "vmullt.s8 q0, q0, q1\n" \
    "vldrb.8 q1, [" second "], #16\n" \
    "vmullb.s8 q1, q1, q3\n" \
    "vldrw.32 q4, [r1]\n" \
    "vadd.i16 q2, q2, q1\n" \
    "vldrb.8 q1, [" second ", #-16]\n" \
    "vmullt.s8 q1, q1, q3\n" \
    "vldrw.32 q5, [r1, #16]\n" \
    "vadd.i16 q0, q0, q1\n" \
    "vldrw.32 q6, [r1, #32]\n" \
    "add r0, r1, #224\n" \
    "vldrw.32 q7, [r1, #48]\n"

/* The next two taps, while the products before are added to the sums: instructions of one pipe do not follow
   each other where others can lie between them. */
#define NEXT_PAIR \
    "vmovlb.s16 q1, q2\n" \
    "vldrw.32 q3, [r0], #32\n" \
    "vadd.i32 q4, q4, q1\n" \
    "vldrb.8 q1, [r2], #16\n" \
    "vmovlt.s16 q2, q2\n" \
    "add r3, #16\n" \
    "vadd.i32 q5, q5, q2\n" \
    "vmullb.s8 q2, q1, q3\n" \
    "strd r2, r3, [r5], #8\n" \
    "vmullt.s8 q1, q1, q3\n" \
    "vmovlb.s16 q3, q0\n" \
    "vmovlt.s16 q0, q0\n" \
    "vadd.i32 q6, q6, q3\n" \
    "vldrw.32 q3, [r0, #-16]\n" \
    "vadd.i32 q7, q7, q0\n" \
    "vldrb.8 q0, [r3, #-16]\n" \
    "vmullb.s8 q0, q0, q3\n" \
    "vadd.i16 q2, q2, q0\n" \
    "vldrb.8 q0, [r3, #-16]\n" \
    "vmullt.s8 q0, q0, q3\n" \
    "ldrd r2, r3, [r5]\n" \
    "vadd.i16 q0, q1, q0\n"

#define ADD_PRODUCTS \
    "vmovlb.s16 q1, q2\n" \
    "vadd.i32 q4, q4, q1\n" \
    "vmovlt.s16 q1, q2\n" \
    "vadd.i32 q5, q5, q1\n" \
    "vmovlb.s16 q1, q0\n" \
    "vadd.i32 q6, q6, q1\n" \
    "vmovlt.s16 q1, q0\n" \
    "vadd.i32 q7, q7, q1\n"

/* q4 = sixteen outputs, of the sums with the last products. r1 goes on by what r0 points to, and a predicate
   covers the outputs that are left. */
#define FINISH(RESCALE) \
    ADD_PRODUCTS \
    RESCALE("q4", "64", "128") \
    RESCALE("q5", "80", "144") \
    RESCALE("q6", "96", "160") \
    RESCALE("q7", "112", "176") \
    "vqmovnb.s32 q4, q4\n" \
    "ldr r0, [r0]\n" \
    "vqmovnt.s32 q4, q5\n" \
    "add r1, r0\n" \
    "vqadd.s16 q4, q4, r9\n" \
    "vctp.8 r8\n" \
    "vqmovnb.s32 q6, q6\n" \
    "vqmovnt.s32 q6, q7\n" \
    "vqadd.s16 q6, q6, r9\n" \
    "vqmovnb.s16 q4, q4\n" \
    "vqmovnt.s16 q4, q6\n"

/* The same in one sequence, by two multiplications each. odd: the register of products of odd outputs. */
#define FINISH_DIVIDED(odd, other) \
    "vmovlb.s16 " other ", q2\n" \
    "vldrw.32 q3, [r1, #64]\n" \
    "vadd.i32 q4, q4, " other "\n" \
    "ldr r0, [r0]\n" \
    "vmovlt.s16 q2, q2\n" \
    "vqrdmulh.s32 q4, q4, q3\n" \
    "vldrw.32 q3, [r1, #80]\n" \
    "vadd.i32 q5, q5, q2\n" \
    "vldrw.32 " other ", [r1, #128]\n" \
    "vqrdmulh.s32 q5, q5, q3\n" \
    "vmovlb.s16 q2, " odd "\n" \
    "vqrdmulh.s32 q4, q4, " other "\n" \
    "vldrw.32 " other ", [r1, #144]\n" \
    "vadd.i32 q6, q6, q2\n" \
    "vldrw.32 q3, [r1, #96]\n" \
    "vqrdmulh.s32 q5, q5, " other "\n" \
    "vmovlt.s16 " odd ", " odd "\n" \
    "vqrdmulh.s32 q6, q6, q3\n" \
    "vldrw.32 q3, [r1, #112]\n" \
    "vadd.i32 q7, q7, " odd "\n" \
    "vldrw.32 " odd ", [r1, #160]\n" \
    "vqrdmulh.s32 q7, q7, q3\n" \
    "vqmovnb.s32 q4, q4\n" \
    "vqrdmulh.s32 q6, q6, " odd "\n" \
    "vldrw.32 " odd ", [r1, #176]\n" \
    "vqmovnt.s32 q4, q5\n" \
    "vqrdmulh.s32 q7, q7, " odd "\n" \
    "vqmovnb.s32 q6, q6\n" \
    "add r1, r0\n" \
    "vqadd.s16 q4, q4, r9\n" \
    "vctp.8 r8\n" \
    "vqmovnt.s32 q6, q7\n" \
    "vqmovnb.s16 q4, q4\n" \
    "vqadd.s16 q6, q6, r9\n" \
    "vqmovnt.s16 q4, q6\n"

/* A function of outputs; for the rounding see product.h. */
#define OUTPUTS_FUNCTION(name, FINISH) \
    outputs_function name; \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "ldm r0, {r1, r4, r6, r7, r8, r9, r11, r12}\n" \
          "mov r10, #1\n" \
          "1:\n" \
          "ldrd r2, r3, [r4]\n" \
          "mov r5, r4\n" \
          "sub lr, r6, #1\n" \
          START("r2", "r3") \
          "strd r2, r3, [r5], #8\n" \
          "ldrd r2, r3, [r5]\n" /* not used behind the last pair */ \
          "wls lr, lr, 3f\n" \
          "2:\n" \
          NEXT_PAIR \
          "le lr, 2b\n" \
          "3:\n" \
          FINISH \
          "vdup.8 q0, r11\n" \
          "vmax.s8 q4, q4, q0\n" \
          "vdup.8 q0, r12\n" \
          "vmin.s8 q4, q4, q0\n" \
          "vpst\n" \
          "vstrbt.8 q4, [r7], #16\n" \
          "subs r8, #16\n" \
          "bgt.w 1b\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

OUTPUTS_FUNCTION(cm_mve_depthwise_divided, FINISH_DIVIDED("q0", "q1"));
OUTPUTS_FUNCTION(cm_mve_depthwise_right, FINISH(RESCALE_RIGHT));
OUTPUTS_FUNCTION(cm_mve_depthwise_general, FINISH(RESCALE_GENERAL));

/* The same for three taps and all of int8. */
outputs_function cm_mve_depthwise_three;
__asm(CM_ASM_FUNCTION(cm_mve_depthwise_three)
      "push {r4-r11, lr}\n"
      "vpush {d8-d15}\n"
      "ldm r0, {r1, r4, r6, r7, r8, r9}\n"
      "ldm r4, {r2, r3, r5}\n"
      "1:\n"
      START("r2", "r3")
      "vmovlb.s16 q1, q2\n"
      "vldrw.32 q3, [r0], #32\n"
      "vadd.i32 q4, q4, q1\n"
      "vldrb.8 q1, [r5], #16\n"
      "vmovlt.s16 q2, q2\n"
      "vadd.i32 q5, q5, q2\n"
      "vmullb.s8 q2, q1, q3\n"
      "vmullt.s8 q1, q1, q3\n"
      "vmovlb.s16 q3, q0\n"
      "vadd.i32 q6, q6, q3\n"
      "vmovlt.s16 q0, q0\n"
      "vadd.i32 q7, q7, q0\n"
      FINISH_DIVIDED("q1", "q0")
      "vpst\n"
      "vstrbt.8 q4, [r7], #16\n"
      "subs r8, #16\n"
      "bgt.w 1b\n"
      "vpop {d8-d15}\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

/* Input columns of a row between zero points. */
static void write_row(const struct cm_depthwise *d, struct cm_columns columns, const int8_t *in, int8_t *row)
{
    int32_t before = columns.before * d->channels, inside = columns.inside * d->channels;
    memset(row, d->input_zero_point, (size_t)before);
    if (inside > 0)
        cm_isa_copy_blocks_s8(row + before, inside, in, inside, inside, 1);
    memset(row + before + inside, d->input_zero_point, (size_t)(columns.after * d->channels));
}

/* Output columns [x0, x0 + width) of a row whose windows' rows are `rows`: as one, since the channels of
   neighbouring pixels follow each other in each tap. Rows that hang over the image, or outside of it, are
   written to `space`. */
static void convolve_columns(const struct cm_depthwise *d, outputs_function *make, const int32_t *rows,
                             int32_t x0, int32_t width, struct outputs *outputs, int8_t *space)
{
    struct cm_columns columns =
        cm_covered_columns(d, (d->kernel_width - 1) * d->dilation_width + 1, x0, width);
    bool is_inside = columns.before + columns.after == 0;
    int32_t covered = columns.before + columns.inside + columns.after;
    int32_t pitch = (covered * d->channels + LANES - 1) & -LANES;
    int32_t start = (columns.first + columns.before) * d->channels;
    const int8_t *blank = NULL, **tap = outputs->taps;
    for (int32_t ky = 0; ky < d->kernel_height; ++ky) {
        int32_t row = rows[ky * d->dilation_height];
        const int8_t *first = row == CM_NO_ROW ? blank : d->input + row + start;
        if (first == NULL || (row != CM_NO_ROW && !is_inside)) {
            if (row == CM_NO_ROW)
                blank = memset(space, d->input_zero_point, (size_t)pitch);
            else
                write_row(d, columns, first, space);
            first = space;
            space += pitch;
        }
        for (int32_t kx = 0; kx < d->kernel_width; ++kx)
            *tap++ = first + kx * d->dilation_width * d->channels;
    }
    if ((d->kernel_height * d->kernel_width & 1) != 0)
        *tap = tap[-1]; /* times 0 */
    outputs->count = width * d->channels;
    make(outputs);
}

/* The same pixel by pixel; taps outside of the image are at `padding`. */
static void convolve_pixels(const struct cm_depthwise *d, outputs_function *make, const int32_t *rows,
                            struct outputs *outputs, const int8_t *padding)
{
    for (int32_t x = 0; x < d->out_width; ++x, outputs->out += d->channels) {
        outputs->taps[2 * outputs->pairs - 1] = padding;
        cm_find_taps(d, rows, x * d->stride_width - d->pad_left, padding, outputs->taps);
        make(outputs);
    }
}

static __attribute__((noinline)) void convolve(const struct cm_depthwise *d, outputs_function *make)
{
    int32_t area = d->kernel_height * d->kernel_width;
    int32_t slots = (area + 1) & ~1;
    const int8_t **taps = d->workspace;
    int8_t *space = (int8_t *)(taps + slots);
    struct outputs outputs = {
        .weights = d->weights,
        .taps = taps,
        .pairs = slots / 2,
        .count = d->channels,
        .zero_point = d->output.zero_point,
        .minimum = d->output.minimum,
        .maximum = d->output.maximum,
    };
    bool is_by_pixel = d->chunk == 1;
    if (is_by_pixel)
        memset(space, d->input_zero_point, (size_t)((d->channels + LANES - 1) & -LANES));
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        int8_t *const out = d->out + d->out_rows[r];
        outputs.out = out;
        if (is_by_pixel)
            convolve_pixels(d, make, rows, &outputs, space);
        for (int32_t x = is_by_pixel ? d->out_width : 0; x < d->out_width; x += d->chunk) {
            int32_t left = d->out_width - x;
            outputs.out = out + x * d->channels;
            convolve_columns(d, make, rows, x, left < d->chunk ? left : d->chunk, &outputs, space);
        }
    }
}

void cm_isa_depthwise_s8(const struct cm_depthwise *d)
{
    convolve(d, d->output.rounding == CM_ROUND_GENERAL ? cm_mve_depthwise_general : cm_mve_depthwise_right);
}

void cm_isa_depthwise_s8_divided(const struct cm_depthwise *d)
{
    const bool is_whole = d->output.minimum == INT8_MIN && d->output.maximum == INT8_MAX;
    const bool is_three = is_whole && d->kernel_height * d->kernel_width == 3;
    convolve(d, is_three ? cm_mve_depthwise_three : cm_mve_depthwise_divided);
}
