/* Depthwise convolution with several filters for each channel without SIMD: one multiplication makes the
   products of two filters.

   The weights for a tap are a word, first + 2^16 * second. Products of two taps fit 16 bits in sum. The first
   biases are less 2^15 for each two taps, which the sums have too much. */
#include "cmrt/shared_filters.h"
#include "output.h"

#if defined(__thumb__) && !defined(__thumb2__) && !defined(CM_PORTABLE)
void cm_scalar_convolve_shared(const struct cm_pixel *pixel, const struct limits *limits);
/* clang-format off */
/* r0 points to the taps, r1 is the channel's offset from them, r2 points to the weights. The sums are r3 and r8; r12 is 2^15. */
#define TWO_TAPS \
    "ldm r0!, {r4, r5}\n" \
    "ldrsb r4, [r4, r1]\n" \
    "ldrsb r5, [r5, r1]\n" \
    "ldm r2!, {r6, r7}\n" \
    "muls r4, r6, r4\n" \
    "muls r5, r7, r5\n" \
    "adds r4, r4, r5\n" \
    "add r4, r12\n" \
    "uxth r5, r4\n" \
    "asrs r4, r4, #16\n" \
    "adds r3, r3, r5\n" \
    "add r8, r4\n"

/* The stack frame is the first four words of the pixel. */
__asm(CM_ASM_FUNCTION(cm_scalar_convolve_shared)
      PUSH_ALL
      "ldm r0!, {r4-r7}\n"
      "sub sp, #16\n"
      "mov r3, r1\n"
      "mov r1, sp\n"
      "stm r1!, {r4-r7}\n"
      "ldm r0!, {r2, r7}\n"
      "ldm r3!, {r4-r6}\n"
      "mov r9, r4\n" "mov r10, r5\n" "mov r11, r6\n"
      "movs r1, #1\n"
      "lsls r1, r1, #15\n"
      "mov r12, r1\n"
      "mov r1, r7\n"
      "1:\n"
      "ldm r2!, {r3, r4}\n"
      "mov r8, r4\n"
      "ldr r0, [sp]\n"
      "ldr r4, [sp, #4]\n"
      "adds r5, r2, r4\n"
      "mov lr, r5\n"
      "lsls r4, r4, #28\n" /* negative if the number of pairs of taps is odd */
      "bmi 6f\n"
      "5:\n"
      TWO_TAPS
      "6:\n"
      TWO_TAPS
      "cmp r2, lr\n"
      "bne 5b\n"
      "cmp r3, #0\n"
      OUTPUT("[r2]", "[r2, #8]")
      "ldr r4, [sp, #8]\n"
      "strb r7, [r4]\n"
      "adds r4, #1\n"
      "str r4, [sp, #8]\n"
      "ldr r5, [r2, #16]\n"
      "cmp r5, #0\n"
      "beq 7f\n"
      "mov r3, r8\n"
      "cmp r3, #0\n"
      OUTPUT("[r2, #4]", "[r2, #12]")
      "ldr r4, [sp, #8]\n"
      "strb r7, [r4]\n"
      "adds r4, #1\n"
      "str r4, [sp, #8]\n"
      "7:\n"
      "ldr r5, [r2, #20]\n"
      "adds r1, r1, r5\n"
      "adds r2, #24\n"
      "ldr r4, [sp, #12]\n"
      "cmp r2, r4\n"
      "beq 8f\n"
      "b 1b\n"
      "8:\n"
      "add sp, #16\n"
      POP_ALL
      CM_ASM_END);
/* clang-format on */
#endif

static void convolve_pixel(const struct cm_output *output, const struct cm_pixel *pixel)
{
#if defined(__thumb__) && !defined(__thumb2__) && !defined(CM_PORTABLE)
    if (output->rounding != CM_ROUND_GENERAL) {
        struct limits limits = limits_of(output);
        cm_scalar_convolve_shared(pixel, &limits);
        return;
    }
#endif
    int8_t *out = pixel->out;
    int32_t channel = pixel->first;
    for (const int8_t *packed = pixel->packed; packed != pixel->end;) {
        const uint32_t *weights = (const uint32_t *)(const void *)packed, *end;
        const int8_t *const *taps = pixel->taps;
        uint32_t first = *weights++, second = *weights++;
        for (end = weights + pixel->bytes / 4; weights != end; weights += 2, taps += 2) {
            uint32_t products =
                0x8000 + (uint32_t)taps[0][channel] * weights[0] + (uint32_t)taps[1][channel] * weights[1];
            first += products & 0xffff;
            second += (uint32_t)((int32_t)products >> 16);
        }
        const struct cm_rescaling *scale = (const struct cm_rescaling *)(const void *)end;
        *out++ = cm_output_s8(output, (int32_t)first, scale->multiplier[0], scale->shift[0]);
        if (scale->second != 0)
            *out++ = cm_output_s8(output, (int32_t)second, scale->multiplier[1], scale->shift[1]);
        channel += scale->step;
        packed = (const int8_t *)(scale + 1);
    }
}

void cm_isa_depthwise_shared_s8(const struct cm_depthwise *d)
{
    cm_convolve_pixels(d, convolve_pixel);
}
