/* Rescaling of several sums on cores without the DSP extension: on Armv6-M the general code is too much for
   its eight registers. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "cmrt/isa.h"

/* The range of scaled sums, less the zero point. */
struct limits {
    int32_t low, high, zero_point;
};

static inline struct limits limits_of(const struct cm_output *output)
{
    return (struct limits){output->minimum - output->zero_point, output->maximum - output->zero_point,
                           output->zero_point};
}

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#include "cmrt/assembly.h"

/* clang-format off */
/* OUTPUT: the sum in r3 as int8 in r7. Low, high and zero point are r9 to r11; the multiplier and the shift are at
   the addresses. Leaves r0 to r2 as they are. */
/* A sum that is not positive is the lowest output, without scaling, where that is not below the zero point. */
#define LOWEST_UNLESS_POSITIVE \
    "bgt 5f\n" \
    "mov r7, r9\n" \
    "cmp r7, #0\n" \
    "bge 4f\n" \
    "5:\n"
#ifdef __thumb2__
#define PUSH_ALL "push {r4-r11, lr}\n"
#define POP_ALL "pop {r4-r11, pc}\n"
#define CLAMP \
    "cmp r7, r9\n" \
    "it lt\n" \
    "movlt r7, r9\n" \
    "cmp r7, r10\n" \
    "it gt\n" \
    "movgt r7, r10\n"

#define OUTPUT(multiplier, shift) \
    "ldr r4, " multiplier "\n" \
    "ldr r5, " shift "\n" \
    "cmp r3, #0\n" \
    SCALE_AND_CLAMP

/* With the multiplier in r4 and the shift in r5. */
#define SCALE_AND_CLAMP \
    LOWEST_UNLESS_POSITIVE \
    CM_HIGH_PRODUCT("r7", "r3", "r4", "", "r6") \
    CM_SHIFT_RIGHT("r7", "r5", "") \
    CLAMP \
    "4:\n" \
    "add r7, r11\n"
#else
#define PUSH_ALL \
    "push {r4-r7, lr}\n" \
    "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n" \
    "push {r4-r7}\n"

#define POP_ALL \
    "pop {r4-r7}\n" \
    "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n" \
    "pop {r4-r7, pc}\n"

#define CLAMP \
    "cmp r7, r9\n" \
    "bge 3f\n" \
    "mov r7, r9\n" \
    "3:\n" \
    "cmp r7, r10\n" \
    "ble 4f\n" \
    "mov r7, r10\n" \
    "4:\n"

/* CM_HIGH_PRODUCT of the sum in r3 and the multiplier in r4. A sum of 16 bits, as most are, has two products
   instead of four. */
#define HIGH_PRODUCT \
    "uxth r5, r4\n" \
    "asrs r4, r4, #16\n" \
    "sxth r6, r3\n" \
    "subs r3, r3, r6\n" \
    "beq 8f\n" \
    "asrs r3, r3, #16\n" \
    "movs r7, r5\n" \
    "muls r7, r6, r7\n" \
    "asrs r7, r7, #16\n" \
    "muls r5, r3, r5\n" \
    "adds r7, r7, r5\n" \
    "muls r6, r4, r6\n" \
    "adds r7, r7, r6\n" \
    "muls r4, r3, r4\n" \
    "asrs r7, r7, #14\n" \
    "lsls r4, r4, #2\n" \
    "adds r7, r7, r4\n" \
    "b 9f\n" \
    "8:\n" \
    "muls r5, r6, r5\n" \
    "asrs r5, r5, #16\n" \
    "muls r4, r6, r4\n" \
    "adds r7, r5, r4\n" \
    "asrs r7, r7, #14\n" \
    "9:\n" \
    "adds r7, #1\n" \
    "asrs r7, r7, #1\n"

/* The flags are those of the sum. */
#define OUTPUT(multiplier, shift) \
    LOWEST_UNLESS_POSITIVE \
    "ldr r4, " multiplier "\n" \
    HIGH_PRODUCT \
    "ldr r5, " shift "\n" \
    CM_SHIFT_RIGHT("r7", "r5", "r6") \
    CLAMP \
    "add r7, r11\n"
#endif
/* clang-format on */
#endif

#endif
