/* Depthwise convolution without SIMD: one output at a time, through a table of its taps. */
#include "cmrt/taps.h"
#include "output.h"

#include <string.h>

/* One channel: the weights of its taps follow, zeros up to a multiple of four bytes. */
struct filter {
    int32_t bias, multiplier, shift;
};

/* Sum of the products of `area` taps at one channel. */
static inline int32_t accumulate(const int8_t *const *taps, int32_t channel, const int8_t *weights,
                                 int32_t area)
{
    int32_t sum = 0;
    for (; area >= 3; area -= 3, taps += 3, weights += 3) {
        sum += taps[0][channel] * weights[0];
        sum += taps[1][channel] * weights[1];
        sum += taps[2][channel] * weights[2];
    }
    for (; area > 0; --area)
        sum += (*taps++)[channel] * *weights++;
    return sum;
}

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
/* What the outputs of a pixel have in common. */
struct pixel {
    const struct filter *filters;
    const int8_t *const *taps;
    struct limits limits;
    int32_t channels;
};

/* For nine taps, and for up to four or eight, with weights of 0 up to these. */
typedef void convolve_function(const struct pixel *pixel, int8_t *out);
convolve_function cm_scalar_convolve_nine, cm_scalar_convolve_four, cm_scalar_convolve_eight;
/* clang-format off */
/* CONVOLVE: adds the products of nine taps to the sum in r3. r0 points to the taps, as it does afterwards; r1 is
   the channel, r2 its filter. r4 holds the weights of several taps; r5 to r7 are free. */
#ifdef __thumb2__
/* r8 is a weight. */
#define ADD_THREE_TAPS(weight0, weight1, weight2) \
    "ldm r0!, {r5-r7}\n" \
    "ldrsb r5, [r5, r1]\n" \
    "ldrsb r6, [r6, r1]\n" \
    "ldrsb r7, [r7, r1]\n" \
    weight0 "mla r3, r5, r8, r3\n" \
    weight1 "mla r3, r6, r8, r3\n" \
    weight2 "mla r3, r7, r8, r3\n"
#define WEIGHT(bit) "sxtb.w r8, r4, ror #" bit "\n"
#define STORE_OUTPUT "strb r7, [r12, r1]\n"
#define NEXT_WEIGHTS(address) "ldr r4, " address "\n"
#define CONVOLVE \
    NEXT_WEIGHTS("[r2, #12]") \
    ADD_THREE_TAPS(WEIGHT("0"), WEIGHT("8"), WEIGHT("16")) \
    ADD_THREE_TAPS(WEIGHT("24") NEXT_WEIGHTS("[r2, #16]"), WEIGHT("0"), WEIGHT("8")) \
    ADD_THREE_TAPS(WEIGHT("16"), WEIGHT("24") NEXT_WEIGHTS("[r2, #20]"), WEIGHT("0")) \
    "subs r0, #36\n"
#else
#define STORE_OUTPUT "mov r6, r12\n" "strb r7, [r6, r1]\n"
#define ADD_TAP(value) \
    "ldrsb " value ", [" value ", r1]\n" \
    "sxtb r7, r4\n" \
    "muls " value ", r7, " value "\n" \
    "adds r3, r3, " value "\n"
#define ADD_LAST_TAP(value) \
    "ldrsb " value ", [" value ", r1]\n" \
    "muls " value ", r4, " value "\n" \
    "adds r3, r3, " value "\n"
#define ADD_FOUR_TAPS(weights) \
    "ldr r4, " weights "\n" \
    "ldm r0!, {r5, r6}\n" \
    ADD_TAP("r5") "asrs r4, r4, #8\n" ADD_TAP("r6") "asrs r4, r4, #8\n" \
    "ldm r0!, {r5, r6}\n" \
    ADD_TAP("r5") "asrs r4, r4, #8\n" ADD_LAST_TAP("r6")
#define CONVOLVE \
    ADD_FOUR_TAPS("[r2, #12]") \
    ADD_FOUR_TAPS("[r2, #16]") \
    "ldr r5, [r0]\n" \
    "ldr r4, [r2, #20]\n" \
    ADD_TAP("r5") \
    "mov r0, r8\n"
#endif

/* filter: its bytes. */
#define PIXEL_FUNCTION(name, CONVOLVE, filter) \
    __asm(CM_ASM_FUNCTION(name) \
          PUSH_ALL \
          "mov r12, r1\n" \
          "movs r1, #0\n" \
          "ldm r0!, {r2-r7}\n" \
          "mov r8, r3\n" "mov r9, r4\n" "mov r10, r5\n" "mov r11, r6\n" "mov lr, r7\n" \
          "mov r0, r8\n" \
          "1:\n" \
          "ldr r3, [r2]\n" \
          CONVOLVE \
          OUTPUT("[r2, #4]", "[r2, #8]") \
          STORE_OUTPUT \
          "adds r2, #" filter "\n" \
          "adds r1, #1\n" \
          "cmp r1, lr\n" \
          "bne 1b\n" \
          POP_ALL \
          CM_ASM_END)

PIXEL_FUNCTION(cm_scalar_convolve_nine, CONVOLVE, "24");
#ifndef __thumb2__
PIXEL_FUNCTION(cm_scalar_convolve_four, ADD_FOUR_TAPS("[r2, #12]") "mov r0, r8\n", "16");
PIXEL_FUNCTION(cm_scalar_convolve_eight, ADD_FOUR_TAPS("[r2, #12]") ADD_FOUR_TAPS("[r2, #16]") "mov r0, r8\n", "20");
#endif
/* clang-format on */

/* The function for so many taps, or NULL. */
static convolve_function *function_of(int32_t area)
{
    if (area == 9)
        return cm_scalar_convolve_nine;
#ifndef __thumb2__
    if (area > 1 && area <= 8)
        return area <= 4 ? cm_scalar_convolve_four : cm_scalar_convolve_eight;
#endif
    return NULL;
}
#endif

/* One output of each channel. */
static void convolve_pixel(const struct cm_depthwise *d, const int8_t *packed, const int8_t *const *taps,
                           int32_t area, int8_t *out)
{
#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
    convolve_function *function = function_of(area);
    if (function != NULL && d->output.rounding != CM_ROUND_GENERAL) {
        struct pixel pixel = {(const void *)packed, taps, limits_of(&d->output), d->channels};
        function(&pixel, out);
        return;
    }
#endif
    for (int32_t c = 0; c < d->channels; ++c) {
        const struct filter *filter = (const struct filter *)(const void *)packed;
        const int8_t *weights = packed + sizeof *filter;
        int32_t sum = cm_wrapping_add(accumulate(taps, c, weights, area), filter->bias);
        out[c] = cm_output_s8(&d->output, sum, filter->multiplier, filter->shift);
        packed = weights + ((area + 3) & -4);
    }
}

void cm_isa_depthwise_s8(const struct cm_depthwise *d)
{
    int32_t area = d->kernel_height * d->kernel_width, slots = (area + 3) & ~3;
    const int8_t **taps = d->workspace;
    int8_t *padding = (int8_t *)(taps + slots);
    memset(padding, d->input_zero_point, (size_t)d->channels);
    for (int32_t i = area; i < slots; ++i)
        taps[i] = padding;
    for (int32_t r = 0; r < d->band; ++r) {
        const int32_t *rows = d->input_rows + r * d->stride_height;
        int8_t *out = d->out + d->out_rows[r];
        for (int32_t x = 0; x < d->out_width; ++x, out += d->channels) {
            cm_find_taps(d, rows, x * d->stride_width - d->pad_left, padding, taps);
            convolve_pixel(d, d->weights, taps, area, out);
        }
    }
}
