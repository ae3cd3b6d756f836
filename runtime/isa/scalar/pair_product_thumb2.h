/* A depth of pair_product.h with Thumb-2: the shifter of ADD takes upper halves, and loads follow each other.

   19 cycles for eight products on a Cortex-M3. */
#ifndef PAIR_PRODUCT_THUMB2_H
#define PAIR_PRODUCT_THUMB2_H

/* clang-format off */
#define PAIR_COLUMN(both, upper, weight) \
    "mul " weight ", r0, " weight "\n" \
    "add.w " both ", " both ", " weight "\n" \
    "add.w " upper ", " upper ", " weight ", lsr #16\n"
/* 68 bytes of code. */
#define PAIR_DEPTH(k, offset0, offset1, offset2, offset3, beside) \
    "ldr.w r0, [r1, #" k "]\n" \
    "ldrb.w r3, [r2, #" offset0 "]\n" \
    "ldrb.w r12, [r2, #" offset1 "]\n" \
    "ldrb.w lr, [r2, #" offset2 "]\n" \
    PAIR_COLUMN("r8", "r4", "r3") PAIR_COLUMN("r9", "r5", "r12") PAIR_COLUMN("r10", "r6", "lr") \
    "ldrb.w r3, [r2, #" offset3 "]\n" \
    beside \
    PAIR_COLUMN("r11", "r7", "r3")
#define PAIR_DEPTH_HALF "34"
#define PAIR_BACK BACK_BY_OFFSETS
#define PAIR_AHEAD AHEAD_BY_OFFSETS
/* 36 bytes of code. */
#define PAIR_DEPTH_BY_TWO(k, offset0, offset1, offset2, offset3, beside) \
    "ldr.w r0, [r1, #" k "]\n" \
    "ldrb.w r3, [r2, #" offset0 "]\n" \
    "ldrb.w r12, [r2, #" offset1 "]\n" \
    PAIR_COLUMN("r8", "r4", "r3") PAIR_COLUMN("r9", "r5", "r12") beside
#define PAIR_DEPTH_BY_TWO_HALF "18"

#define PAIR_LOWER(both, upper) \
    "sub.w " both ", " both ", " upper ", lsl #16\n" \
    "str " both ", [r0], #4\n"

#define PAIR_CLEAR \
    "movs r4, #0\n" "movs r5, #0\n" "movs r6, #0\n" "movs r7, #0\n" \
    "mov r8, r4\n" "mov r9, r4\n" "mov r10, r4\n" "mov r11, r4\n"

#define PAIR_UPPER ""

#define PAIR_ENTER "push {r0, r3-r11, lr}\n"

#define PAIR_END "ldr.w r12, [sp, #4]\n"
#define PAIR_AGAIN \
    "cmp r1, r12\n" \
    "bne.w 1b\n" \
    "ldr r0, [sp]\n"

#define PAIR_LEAVE "pop {r0, r3-r11, pc}\n"
/* clang-format on */

#endif
