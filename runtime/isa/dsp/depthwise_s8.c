/* Depthwise convolution of any window with the DSP extension: four channels of a pixel at a time, two taps of
   each by one SMLAD.

   Packed weights are blocks of four channels, the last one of the last four: biases; of each two taps a word
   of two channels, then one of the others; multipliers and factors as gemm_s8.c has them, of fewer than
   four channels multipliers and shifts. */
#include "cmrt/assembly.h"
#include "cmrt/taps.h"
#include "simd.h"

#include <string.h>

enum { CHANNELS = 4 };

/* What the outputs of a row have in common, and the next pixel. */
struct pixel {
    const int8_t *const *taps;
    int8_t *out;
    int32_t last; /* offset of the last four channels from the taps */
    int32_t zero_point;
    uint32_t minimum, maximum; /* four times */
    const void *blocks;
    int32_t first; /* offset of the first channels; `out` is as far before the output */
    const int8_t *const *taps_end;
};

void cm_dsp_convolve_pixel(const struct pixel *pixel);

/* clang-format off */
/* The sums of four channels are r0 to r3. r4 points to the weights, r5 to the taps, the channels are at r6. */
#define ADD_TWO_TAPS \
    "ldr.w r8, [r5, #4]\n" \
    "ldr r7, [r5], #8\n" \
    "ldr r10, [r4, #4]\n" \
    "ldr r9, [r4], #8\n" \
    "ldr r8, [r8, r6]\n" \
    "ldr.w r7, [r7, r6]\n" \
    "sxtb16 r12, r9\n" \
    "sxtb16 r9, r9, ror #8\n" \
    "pkhbt r11, r7, r8, lsl #16\n" \
    "pkhtb r7, r8, r7, asr #16\n" \
    "sxtb16 r8, r11\n" \
    "sxtb16 r11, r11, ror #8\n" \
    "smlad r0, r8, r12, r0\n" \
    "smlad r1, r11, r9, r1\n" \
    "sxtb16 r8, r7\n" \
    "sxtb16 r7, r7, ror #8\n" \
    "sxtb16 r12, r10\n" \
    "sxtb16 r10, r10, ror #8\n" \
    "smlad r2, r8, r12, r2\n" \
    "smlad r3, r7, r10, r3\n"

#define FOUR_TIMES(OPERATION) OPERATION("r0", "r7") OPERATION("r1", "r8") OPERATION("r2", "r9") OPERATION("r3", "r10")
#define SCALE(sum, multiplier) "smmlar " sum ", " sum ", " multiplier ", " sum "\n"
#define AWAY_FROM_ZERO(sum, unused) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum, factor) "smmlar " sum ", " sum ", " factor ", r11\n"
#define SATURATE(sum, unused) "ssat " sum ", #8, " sum "\n"

__asm(CM_ASM_FUNCTION(cm_dsp_convolve_pixel)
      "push {r4-r11, lr}\n"
      "sub sp, #28\n"
      "ldm r0!, {r1-r3, r5, r7, r8}\n"
      "stm sp, {r1-r3, r5, r7, r8}\n"
      "ldm r0, {r4, r6, lr}\n"
      "1:\n"
      "ldr r5, [sp]\n"
      "ldm r4!, {r0-r3}\n"
      "sub r7, lr, r5\n"
      "lsls r7, #29\n" /* an odd number of two taps begins in the middle */
      "bcs 3f\n"
      ".p2align 2\n"
      "2:\n"
      ADD_TWO_TAPS
      "3:\n"
      ADD_TWO_TAPS
      "cmp.w r5, lr\n"
      "bne.w 2b\n"
      "ldr r11, [sp, #12]\n"
      "ldm r4!, {r7-r10}\n"
      FOUR_TIMES(SCALE)
      "ldm r4!, {r7-r10}\n"
      FOUR_TIMES(AWAY_FROM_ZERO)
      FOUR_TIMES(SHIFT)
      "ldrd r7, r8, [sp, #16]\n"
      FOUR_TIMES(SATURATE)
      "bfi r0, r1, #8, #24\n"
      "bfi r2, r3, #8, #24\n"
      "pkhbt r0, r0, r2, lsl #16\n"
      "ssub8 r9, r0, r8\n"
      "sel r0, r8, r0\n"
      "ldrd r8, r9, [sp, #4]\n"
      "ssub8 r10, r0, r7\n"
      "sel r0, r0, r7\n"
      "str r0, [r8, r6]\n"
      "cmp r6, r9\n"
      "beq 4f\n"
      "adds r6, #4\n"
      "cmp r6, r9\n"
      "it gt\n"
      "movgt r6, r9\n"
      "b 1b\n"
      "4:\n"
      "add sp, #28\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

/* For any rounding and number of channels. */
static __attribute__((noinline)) void convolve_pixel(const struct cm_output *output,
                                                     const struct pixel *pixel)
{
    const int32_t area = pixel->taps_end - pixel->taps;
    const int32_t *block = pixel->blocks;
    for (int32_t channel = pixel->first;; channel += CHANNELS) {
        channel = channel > pixel->last && pixel->last >= pixel->first ? pixel->last : channel;
        const int8_t *weights = (const int8_t *)(block + CHANNELS);
        const int32_t *multipliers = (const int32_t *)(const void *)(weights + area * CHANNELS);
        for (int32_t i = 0; i < CHANNELS && channel + i < pixel->last + CHANNELS; ++i) {
            int32_t sum = 0;
            for (int32_t t = 0; t < area; ++t)
                sum += pixel->taps[t][channel + i] * weights[t / 2 * 8 + i / 2 * 4 + t % 2 * 2 + i % 2];
            pixel->out[channel + i] = cm_output_s8(output, cm_wrapping_add(sum, block[i]), multipliers[i],
                                                   multipliers[i + CHANNELS]);
        }
        if (channel >= pixel->last)
            return;
        block = multipliers + 2 * CHANNELS;
    }
}

void cm_isa_depthwise_s8(const struct cm_depthwise *d)
{
    const int32_t area = d->kernel_height * d->kernel_width;
    const int32_t reach = (d->kernel_width - 1) * d->dilation_width, step = d->stride_width * d->channels;
    const int8_t **taps = d->workspace, **end = taps + ((area + 1) & -2);
    int8_t *padding = (int8_t *)(taps + ((area + 3) & -4));
    memset(padding, d->input_zero_point, (size_t)d->channels);
    const bool is_fast = d->output.rounding != CM_ROUND_GENERAL && d->channels >= CHANNELS;
    struct pixel pixel = {
        .taps = taps,
        .zero_point = d->output.zero_point,
        .minimum = (uint8_t)d->output.minimum * 0x01010101U,
        .maximum = (uint8_t)d->output.maximum * 0x01010101U,
        .blocks = d->weights,
        .taps_end = end,
    };
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        int8_t *out = d->out + d->out_rows[r];
        /* The last columns whose windows lie inside; none if rows do not. */
        int32_t inside_end = cm_are_rows_inside(d, rows) ? d->input_width - reach : 0;
        for (int32_t x = 0, left = -d->pad_left; x < d->out_width; ++x, left += d->stride_width) {
            pixel.first += step;
            if (left < d->stride_width || left >= inside_end) {
                cm_find_taps(d, rows, left, padding, taps);
                if (area % 2 != 0)
                    end[-1] = *taps; /* whose weights are 0 */
                pixel.first = 0;
            }
            pixel.last = pixel.first + d->channels - CHANNELS;
            pixel.out = out - pixel.first;
            if (is_fast)
                cm_dsp_convolve_pixel(&pixel);
            else
                convolve_pixel(&d->output, &pixel);
            out += d->channels;
        }
    }
}

void cm_isa_depthwise_s8_divided(const struct cm_depthwise *d)
{
    cm_isa_depthwise_s8(d);
}
