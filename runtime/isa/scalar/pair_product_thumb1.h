/* A depth of pair_product.h in the eight registers of Armv6-M. */
#ifndef PAIR_PRODUCT_THUMB1_H
#define PAIR_PRODUCT_THUMB1_H

/* clang-format off */
#define PAIR_COLUMN(both, upper, offset) \
    "ldrb r3, [r2, #" offset "]\n" \
    "muls r3, r0, r3\n" \
    "add " both ", " both ", r3\n" \
    "lsrs r3, r3, #16\n" \
    "adds " upper ", " upper ", r3\n"
/* 42 bytes of code. */
#define PAIR_DEPTH(k, offset0, offset1, offset2, offset3) \
    "ldr r0, [r1, #" k "]\n" \
    PAIR_COLUMN("r8", "r4", offset0) PAIR_COLUMN("r9", "r5", offset1) \
    PAIR_COLUMN("r10", "r6", offset2) PAIR_COLUMN("r11", "r7", offset3)
#define PAIR_DEPTH_HALF "21"
/* 22 bytes of code. */
#define PAIR_DEPTH_BY_TWO(k, offset0, offset1, offset2, offset3) \
    "ldr r0, [r1, #" k "]\n" PAIR_COLUMN("r8", "r4", offset0) PAIR_COLUMN("r9", "r5", offset1)
#define PAIR_DEPTH_BY_TWO_HALF "11"

#define PAIR_LOWER(both, upper) \
    "lsls r1, " upper ", #16\n" \
    "mov r2, " both "\n" \
    "subs r2, r2, r1\n" \
    "stm r0!, {r2}\n"

#define PAIR_ENTER \
    "push {r0, r4-r7, lr}\n" \
    "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n" \
    "push {r4-r7}\n" \
    "mov r12, r3\n"

#define PAIR_AGAIN \
    "cmp r1, r12\n" \
    "beq 2f\n" \
    "b 1b\n" \
    "2:\n" \
    "ldr r0, [sp, #16]\n"

#define PAIR_LEAVE \
    "pop {r4-r7}\n" \
    "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n" \
    "pop {r0, r4-r7, pc}\n"
/* clang-format on */

#endif
