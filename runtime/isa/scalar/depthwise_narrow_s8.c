/* Depthwise convolution with weights from -8 to 7 without SIMD, of kernels of 3x3: two neighbouring outputs
   at a time. Their sums fit 16 bits, so one multiplication of two activations in a word makes a product of
   each. */
#include "cmrt/taps.h"
#include "output.h"

#include <string.h>

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#define LOAD_TAP "ldrsb "
#include "depthwise_pixel.h"

enum { KERNEL = 3, SLOTS = 16 /* of pointers */ };

/* Taps of two pixels: for each row those of its columns, where the stride is 2 the third one before the
   second one. */
struct two_pixels {
    struct pixel pixel;
    int32_t step; /* from the first output to the second */
};

convolve_function cm_scalar_convolve_nine, cm_scalar_convolve_two, cm_scalar_convolve_two_apart;

/* clang-format off */
#ifdef __thumb2__
/* The products of a pair with a byte of r4. */
#define ADD_PAIR(pair, bit) \
    "sxtb.w r8, r4, ror #" bit "\n" \
    "mla r3, " pair ", r8, r3\n"
#define JOIN(pair, second) "add " pair ", " pair ", " second ", lsl #16\n"
#define LOAD(tap) LOAD_TAP tap ", [" tap ", r1]\n"
#define LAST_WEIGHT(pair) ADD_PAIR(pair, "24")
#define FIRST_WEIGHT(pair) ADD_PAIR(pair, "0")
#define SECOND_WEIGHT(pair) ADD_PAIR(pair, "8")
#define THIRD_WEIGHT(pair) ADD_PAIR(pair, "16")

/* A row of the kernel, by its weights: loads follow each other. */
#define ADD_ROW(WEIGHT_0, WEIGHT_1, WEIGHT_2) \
    "ldm r0!, {r5, r6, r7, lr}\n" \
    LOAD("r5") LOAD("r6") LOAD("r7") LOAD("lr") \
    JOIN("r5", "r6") JOIN("r6", "r7") JOIN("r7", "lr") \
    WEIGHT_0("r5") WEIGHT_1("r6") WEIGHT_2("r7")
#define ADD_ROW_APART(WEIGHT_0, WEIGHT_1, WEIGHT_2) \
    "ldm r0!, {r5, r6, r7, r8, lr}\n" \
    LOAD("r5") LOAD("r6") LOAD("r7") LOAD("r8") LOAD("lr") \
    JOIN("r5", "r6") JOIN("r7", "r8") JOIN("r6", "lr") \
    WEIGHT_0("r5") WEIGHT_1("r7") WEIGHT_2("r6")
#define COMPARE_END "ldr r4, [sp, #8]\n" "cmp r1, r4\n"
#else
#define ADD_PAIR(pair) \
    "sxtb r7, r4\n" \
    "muls " pair ", r7, " pair "\n" \
    "adds r3, r3, " pair "\n"
#define JOIN(pair, second, temporary) \
    "lsls " temporary ", " second ", #16\n" \
    "adds " pair ", " pair ", " temporary "\n"
/* Of a word in turn. */
#define FIRST_WEIGHT(pair) ADD_PAIR(pair)
#define SECOND_WEIGHT(pair) "asrs r4, r4, #8\n" ADD_PAIR(pair)
#define THIRD_WEIGHT(pair) SECOND_WEIGHT(pair)
#define LAST_WEIGHT(pair) \
    "asrs r4, r4, #8\n" \
    "muls " pair ", r4, " pair "\n" \
    "adds r3, r3, " pair "\n"

#define LOAD_TWO(first, second) \
    "ldm r0!, {" first ", " second "}\n" \
    LOAD_TAP first ", [" first ", r1]\n" \
    LOAD_TAP second ", [" second ", r1]\n"
#define LOAD_ONE(tap) \
    "ldm r0!, {" tap "}\n" \
    LOAD_TAP tap ", [" tap ", r1]\n"

/* A row of the kernel, by its weights. */
#define ADD_ROW(WEIGHT_0, WEIGHT_1, WEIGHT_2) \
    LOAD_TWO("r5", "r6") JOIN("r5", "r6", "r7") WEIGHT_0("r5") \
    LOAD_ONE("r5") JOIN("r6", "r5", "r7") WEIGHT_1("r6") \
    LOAD_ONE("r6") JOIN("r5", "r6", "r6") WEIGHT_2("r5")
#define ADD_ROW_APART(WEIGHT_0, WEIGHT_1, WEIGHT_2) \
    LOAD_TWO("r5", "r6") JOIN("r5", "r6", "r7") WEIGHT_0("r5") \
    LOAD_TWO("r5", "r7") JOIN("r5", "r7", "r7") WEIGHT_1("r5") \
    LOAD_ONE("r5") JOIN("r6", "r5", "r5") WEIGHT_2("r6")
#define COMPARE_END "cmp r1, lr\n"
#endif

#define LAST_OF_FIRST(pair) LAST_WEIGHT(pair) "ldr r4, [r2, #16]\n"
#define LAST_OF_SECOND(pair) LAST_WEIGHT(pair) "ldr r4, [r2, #20]\n"

/* Both sums in r3. */
#define CONVOLVE_TWO(ROW) \
    "movs r3, #0\n" \
    "ldr r4, [r2, #12]\n" \
    ROW(FIRST_WEIGHT, SECOND_WEIGHT, THIRD_WEIGHT) \
    ROW(LAST_OF_FIRST, FIRST_WEIGHT, SECOND_WEIGHT) \
    ROW(THIRD_WEIGHT, LAST_OF_SECOND, FIRST_WEIGHT)

#define OUTPUT_BYTE OUTPUT("[r2, #4]", "[r2, #8]")

/* taps: bytes of pointers. */
#define TWO_PIXELS_FUNCTION(name, ROW, taps) \
    __asm(CM_ASM_FUNCTION(name) \
          PUSH_ALL \
          "sub sp, #16\n" \
          "mov r12, r1\n" \
          "mov r1, r2\n" \
          "ldm r0!, {r2-r7}\n" \
          "mov r9, r4\n" "mov r10, r5\n" "mov r11, r6\n" "mov lr, r7\n" \
          "ldr r0, [r0]\n" \
          "str r0, [sp, #4]\n" \
          "str r7, [sp, #8]\n" \
          "mov r0, r3\n" \
          "1:\n" \
          CONVOLVE_TWO(ROW) \
          "subs r0, #" taps "\n" \
          "ldr r5, [r2]\n" \
          "sxth r4, r3\n" \
          "subs r3, r3, r4\n" \
          "asrs r3, r3, #16\n" \
          "adds r3, r3, r5\n" \
          "str r3, [sp]\n" \
          "adds r3, r4, r5\n" \
          OUTPUT_BYTE \
          STORE_OUTPUT("strb") \
          "ldr r3, [sp]\n" \
          "cmp r3, #0\n" \
          OUTPUT_BYTE \
          "ldr r6, [sp, #4]\n" \
          "add r6, r12\n" \
          "strb r7, [r6, r1]\n" \
          "adds r2, #24\n" \
          "adds r1, #1\n" \
          COMPARE_END \
          "beq 2f\n" \
          "b 1b\n" \
          "2:\n" \
          "add sp, #16\n" \
          POP_ALL \
          CM_ASM_END)

TWO_PIXELS_FUNCTION(cm_scalar_convolve_two, ADD_ROW, "48");
TWO_PIXELS_FUNCTION(cm_scalar_convolve_two_apart, ADD_ROW_APART, "60");
/* clang-format on */

static bool has_loop(const struct cm_depthwise *d)
{
    const bool is_small = d->kernel_height == KERNEL && d->kernel_width == KERNEL && d->dilation_width == 1;
    return is_small && d->stride_width <= 2 && d->output.rounding != CM_ROUND_GENERAL;
}

/* The taps of the pixel whose first input column is `left`, and of the next one. */
static void find_two(const struct cm_depthwise *d, const int32_t *rows, int32_t left, const int8_t *padding,
                     const int8_t **taps)
{
    const int32_t columns = KERNEL + d->stride_width;
    struct cm_depthwise both = *d;
    both.kernel_width = columns;
    cm_find_taps(&both, rows, left, padding, taps);
    if (d->stride_width == 2)
        for (const int8_t **const end = taps + KERNEL * columns; taps != end; taps += columns) {
            const int8_t *const second = taps[1];
            taps[1] = taps[2];
            taps[2] = second;
        }
}

static void convolve_row(const struct cm_depthwise *d, const int32_t *rows, int8_t *out,
                         const int8_t *padding, const int8_t **taps)
{
    const int32_t channels = d->channels, stride = d->stride_width, two = 2 * stride;
    convolve_function *const function = stride == 1 ? cm_scalar_convolve_two : cm_scalar_convolve_two_apart;
    struct two_pixels pair = {{d->weights, taps, limits_of(&d->output), 0}, channels};
    /* The last columns whose windows lie inside; none if rows do not. */
    const int32_t end = cm_are_rows_inside(d, rows) ? d->input_width - (KERNEL + stride - 1) : 0;
    int32_t first = 0, left = -d->pad_left;
    for (int32_t pixels = d->out_width; pixels > 0; pixels -= 2, left += two, out += 2 * channels) {
        first += two * channels;
        if (pixels == 1) {
            cm_find_taps(d, rows, left, padding, taps);
            pair.pixel.end = channels;
            cm_scalar_convolve_nine(&pair.pixel, out, 0);
            return;
        }
        if (left < two || left >= end) {
            find_two(d, rows, left, padding, taps);
            first = 0;
        }
        pair.pixel.end = first + channels;
        function(&pair.pixel, out - first, first);
    }
}

static void convolve_pairs(const struct cm_depthwise *d)
{
    const int8_t **taps = d->workspace;
    int8_t *const padding = (int8_t *)(taps + SLOTS);
    memset(padding, d->input_zero_point, (size_t)d->channels);
    for (int32_t r = 0; r < d->band; ++r)
        convolve_row(d, d->input_rows + r * d->stride_height, d->out + d->out_rows[r], padding, taps);
}
#endif

void cm_isa_depthwise_narrow_s8(const struct cm_depthwise *d)
{
#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
    if (has_loop(d)) {
        convolve_pairs(d);
        return;
    }
#endif
    cm_isa_depthwise_s8(d);
}
