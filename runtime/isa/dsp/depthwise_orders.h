/* Loops of the 3x3 depthwise convolution in orders that a Cortex-M7 issues in pairs: a product beside a load
   or an addition, loads two cycles before their use. AWAY moves halves away from zero, or does nothing. A
   search found them: docs/performance.md. */
#ifndef DEPTHWISE_ORDERS_H
#define DEPTHWISE_ORDERS_H

/* clang-format off */
/* Two columns of two rows: TWO_BY_TWO of depthwise_loops.h with its end. */
#define TWO_BY_TWO_IN_PAIRS(SCALE, AWAY, SHIFT, SATURATE, STORE) \
    "ldr.w lr, [r6, #16]\n" \
    "ldr.w r12, [sp, #32]\n" \
    "ldr.w r11, [r6]\n" \
    "smlad r10, lr, r3, r12\n" \
    "ldr.w r9, [r6, #64]\n" \
    "smlabt lr, lr, r3, r12\n" \
    "ldr.w r7, [r6, #96]\n" \
    "smlatb r10, r11, r0, r10\n" \
    "ldr.w r8, [r6, #112]\n" \
    "smlad lr, r11, r0, lr\n" \
    "smlatb r11, r7, r2, r12\n" \
    "smlad r12, r7, r2, r12\n" \
    "smlad r12, r9, r1, r12\n" \
    "ldr.w r7, [r6, #32]\n" \
    "smlatb r10, r9, r2, r10\n" \
    "add.w r6, r6, #64\n" \
    "smlatb r11, r9, r1, r11\n" \
    "smlad r11, r8, r5, r11\n" \
    "smlad lr, r9, r2, lr\n" \
    "ldr.w r9, [sp, #28]\n" \
    "smlatb r10, r7, r1, r10\n" \
    "smlabt r12, r8, r5, r12\n" \
    "cmp.w r6, r9\n" \
    "ldr.w r9, [r6, #16]\n" \
    "smlad r12, r7, r0, r12\n" \
    "smlatb r11, r7, r0, r11\n" \
    "smlad r11, r9, r4, r11\n" \
    "ldr.w r8, [r6, #-16]\n" \
    "smlabt r12, r9, r4, r12\n" \
    "smlad r10, r9, r5, r10\n" \
    "smlad lr, r7, r1, lr\n" \
    "smlad r11, r8, r3, r11\n" \
    "ldr.w r7, [sp, #36]\n" \
    "smlad r10, r8, r4, r10\n" \
    SCALE("r11", "r7") \
    "smlabt r12, r8, r3, r12\n" \
    SCALE("r10", "r7") \
    AWAY("r11") \
    "smlabt lr, r9, r5, lr\n" \
    "ldr.w r9, [sp, #40]\n" \
    "smlabt lr, r8, r4, lr\n" \
    "ldr.w r8, [sp, #12]\n" \
    SCALE("r12", "r7") \
    AWAY("r10") \
    SCALE("lr", "r7") \
    "ldr.w r7, [sp, #24]\n" \
    AWAY("r12") \
    SHIFT("r11", "r9", "r8") \
    SHIFT("r10", "r9", "r8") \
    AWAY("lr") \
    SATURATE("r11") \
    SHIFT("lr", "r9", "r8") \
    SHIFT("r12", "r9", "r8") \
    "ldr.w r8, [sp, #44]\n" \
    "add r8, r7\n" \
    "ldr.w r9, [sp, #8]\n" \
    SATURATE("r10") \
    STORE " r10, [r8]\n" \
    SATURATE("r12") \
    STORE " r11, [r8, r9]\n" \
    SATURATE("lr") \
    STORE " r12, [r7, r9]\n" \
    STORE " lr, [r7]\n" \
    "add.w r7, r7, r9, lsl #1\n" \
    "str.w r7, [sp, #24]\n"

/* A last column alone: ONE_BY_TWO of depthwise_loops.h. */
#define ONE_BY_TWO_IN_PAIRS(SCALE, AWAY, SHIFT, SATURATE, STORE) \
    "ldr.w lr, [r6, #64]\n" \
    "ldr.w r12, [sp, #32]\n" \
    "ldr.w r11, [r6, #80]\n" \
    "smlatb r10, lr, r2, r12\n" \
    "smlad lr, lr, r2, r12\n" \
    "ldr.w r12, [r6, #48]\n" \
    "ldr.w r9, [r6, #32]\n" \
    "smlad r10, r11, r5, r10\n" \
    "ldr.w r7, [r6, #16]\n" \
    "smlabt lr, r11, r5, lr\n" \
    "smlabt lr, r12, r4, lr\n" \
    "add.w r6, r6, #32\n" \
    "smlatb r10, r9, r1, r10\n" \
    "ldr.w r11, [sp, #12]\n" \
    "smlad lr, r9, r1, lr\n" \
    "ldr.w r9, [r6, #-32]\n" \
    "ldr.w r8, [sp, #36]\n" \
    "smlad r10, r12, r4, r10\n" \
    "smlabt lr, r7, r3, lr\n" \
    "smlatb r10, r9, r0, r10\n" \
    "ldr.w r12, [sp, #40]\n" \
    "smlad r10, r7, r3, r10\n" \
    "smlad lr, r9, r0, lr\n" \
    "ldr.w r9, [sp, #8]\n" \
    SCALE("r10", "r8") \
    "ldr.w r7, [sp, #24]\n" \
    SCALE("lr", "r8") \
    "ldr.w r8, [sp, #44]\n" \
    "add.w r8, r8, r7\n" \
    AWAY("r10") \
    SHIFT("r10", "r12", "r11") \
    AWAY("lr") \
    SHIFT("lr", "r12", "r11") \
    SATURATE("r10") \
    STORE " r10, [r8]\n" \
    SATURATE("lr") \
    STORE " lr, [r7]\n" \
    "add r7, r9\n"

/* Four outputs of a row with stride 2: FOUR_OUTPUTS_APART of depthwise_apart.h with its end. */
#define FOUR_APART_IN_PAIRS(AWAY) \
    "ldr.w lr, [r6, #32]\n" \
    "ldr.w r12, [sp, #32]\n" \
    "smlad r11, lr, r2, r12\n" \
    "ldr.w r7, [r5, #16]\n" \
    "ldr.w r9, [r6]\n" \
    "smlad lr, lr, r0, r12\n" \
    "smlad lr, r7, r3, lr\n" \
    "ldr.w r8, [r6, #16]\n" \
    "ldr.w r10, [r6, #112]\n" \
    "smlad r11, r9, r0, r11\n" \
    "ldr.w r9, [r6, #96]\n" \
    "smlad r11, r7, r4, r11\n" \
    "ldr.w r7, [r5]\n" \
    "smlad r11, r8, r1, r11\n" \
    "smlad r10, r10, r1, r12\n" \
    "ldr.w r8, [r5, #32]\n" \
    "smlad r11, r7, r3, r11\n" \
    "ldr.w r7, [r6, #128]!\n" \
    "smlad r10, r9, r0, r10\n" \
    "smlad r10, r7, r2, r10\n" \
    "ldr.w r7, [r5, #48]\n" \
    "smlad r12, r9, r2, r12\n" \
    "smlad r12, r8, r3, r12\n" \
    "smlad r10, r7, r3, r10\n" \
    "ldr.w r9, [r6, #-80]\n" \
    "smlad lr, r8, r4, lr\n" \
    "ldr.w r8, [r6, #-48]\n" \
    "smlad r12, r7, r4, r12\n" \
    "ldr.w r7, [r5, #64]!\n" \
    "smlad lr, r9, r1, lr\n" \
    "ldr.w r9, [r6, #-64]\n" \
    "smlad r10, r7, r4, r10\n" \
    "ldr.w r7, [sp, #36]\n" \
    "smlad r12, r8, r1, r12\n" \
    "ldr.w r8, [sp, #28]\n" \
    "smmlar r11, r11, r7, r11\n" \
    "cmp.w r6, r8\n" \
    "ldr.w r8, [sp, #40]\n" \
    "smmlar r10, r10, r7, r10\n" \
    "smlad r12, r9, r0, r12\n" \
    AWAY("r11") \
    "smlad lr, r9, r2, lr\n" \
    AWAY("r10") \
    "ldr.w r9, [sp, #12]\n" \
    "smmlar r12, r12, r7, r12\n" \
    "smmlar lr, lr, r7, lr\n" \
    "ldr.w r7, [sp, #24]\n" \
    AWAY("r12") \
    "smmlar r11, r11, r8, r9\n" \
    AWAY("lr") \
    "smmlar r10, r10, r8, r9\n" \
    SATURATE("r11") \
    "smmlar lr, lr, r8, r9\n" \
    "smmlar r12, r12, r8, r9\n" \
    "ldr.w r8, [sp, #8]\n" \
    SATURATE("lr") \
    "strb.w r11, [r7]\n" \
    "strb.w lr, [r7, r8]\n" \
    "add.w r7, r7, r8, lsl #1\n" \
    SATURATE("r12") \
    SATURATE("r10") \
    "strb.w r12, [r7]\n" \
    "strb.w r10, [r7, r8]\n" \
    "add.w r7, r7, r8, lsl #1\n" \
    "str.w r7, [sp, #24]\n"
/* clang-format on */

#endif
