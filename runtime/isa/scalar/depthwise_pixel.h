/* A pixel of a depthwise convolution in assembly, for cores without SIMD. A file that includes this one
   defines LOAD_TAP, the instruction that loads an activation. */
#ifndef DEPTHWISE_PIXEL_H
#define DEPTHWISE_PIXEL_H

#include "output.h"

/* What the outputs of a pixel have in common. */
struct pixel {
    const void *filters;
    const int8_t *const *taps;
    struct limits limits;
    int32_t end; /* offset from the taps behind the channels, in bytes */
};

/* out: place of the output whose channel is at the taps; first: offset from them to the pixel's first
 * channel. */
typedef void convolve_function(const struct pixel *pixel, int8_t *out, int32_t first);

/* clang-format off */
/* CONVOLVE: adds the products of nine taps to the sum in r3. r0 points to the taps, as it does afterwards; r1 is
   the channel's offset from them, r2 its filter. r4 holds the weights of several taps; r5 to r7 are free. */
#ifdef __thumb2__
/* r8 is a weight: the last one of a word may be taken before the next word is loaded beside taps. */
#define ADD_THREE_TAPS(last, next, weight0, weight1, weight2) \
    "ldm r0!, {r5-r7}\n" \
    last \
    LOAD_TAP "r5, [r5, r1]\n" \
    LOAD_TAP "r6, [r6, r1]\n" \
    LOAD_TAP "r7, [r7, r1]\n" \
    next \
    weight0 "mla r3, r5, r8, r3\n" \
    weight1 "mla r3, r6, r8, r3\n" \
    weight2 "mla r3, r7, r8, r3\n"
#define WEIGHT(bit) "sxtb.w r8, r4, ror #" bit "\n"
#define STORE_OUTPUT(store) store " r7, [r12, r1]\n"
#define NEXT_WEIGHTS(address) "ldr r4, " address "\n"
#define CONVOLVE \
    NEXT_WEIGHTS("[r2, #12]") \
    ADD_THREE_TAPS("", "", WEIGHT("0"), WEIGHT("8"), WEIGHT("16")) \
    ADD_THREE_TAPS(WEIGHT("24"), NEXT_WEIGHTS("[r2, #16]"), "", WEIGHT("0"), WEIGHT("8")) \
    ADD_THREE_TAPS("", "", WEIGHT("16"), WEIGHT("24") NEXT_WEIGHTS("[r2, #20]"), WEIGHT("0")) \
    "subs r0, #36\n"
#else
#define STORE_OUTPUT(store) "mov r6, r12\n" store " r7, [r6, r1]\n"
#define ADD_TAP(value) \
    LOAD_TAP "" value ", [" value ", r1]\n" \
    "sxtb r7, r4\n" \
    "muls " value ", r7, " value "\n" \
    "adds r3, r3, " value "\n"
#define ADD_LAST_TAP(value) \
    LOAD_TAP "" value ", [" value ", r1]\n" \
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

/* filter: its bytes; element: those of an activation; OUTPUT_ONE: makes an output of the sum in r3, and stores it. */
#define PIXEL_FUNCTION(name, CONVOLVE, filter, OUTPUT_ONE, element) \
    __asm(CM_ASM_FUNCTION(name) \
          PUSH_ALL \
          "mov r12, r1\n" \
          "mov r1, r2\n" \
          "ldm r0!, {r2-r7}\n" \
          "mov r8, r3\n" "mov r9, r4\n" "mov r10, r5\n" "mov r11, r6\n" "mov lr, r7\n" \
          "mov r0, r8\n" \
          "1:\n" \
          "ldr r3, [r2]\n" \
          CONVOLVE \
          OUTPUT_ONE \
          "adds r2, #" filter "\n" \
          "adds r1, #" element "\n" \
          "cmp r1, lr\n" \
          "bne 1b\n" \
          POP_ALL \
          CM_ASM_END)
/* clang-format on */

#endif
