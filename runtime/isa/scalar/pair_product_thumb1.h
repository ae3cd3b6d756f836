/* A depth of pair_product.h, and pairing rows, in the eight registers of Armv6-M. */
#ifndef PAIR_PRODUCT_THUMB1_H
#define PAIR_PRODUCT_THUMB1_H

/* clang-format off */
/* The weight is in w; a product in between, in r3. */
#define PAIR_COLUMN(both, upper, w) \
    "muls " w ", r0, " w "\n" \
    "add " both ", " both ", " w "\n" \
    "lsrs " w ", " w ", #16\n" \
    "add " upper ", " upper ", " w "\n"
/* The weights of four columns are one word, because flash takes long for each read; bytes would take as many
   instructions. LDM goes on by itself, and takes as long as LDR. 48 bytes of code. */
#define PAIR_DEPTH(k, offset0, offset1, offset2, offset3, beside) \
    "ldm r1!, {r0}\n" \
    "ldm r2!, {r6}\n" \
    "uxtb r3, r6\n" PAIR_COLUMN("r8", "r4", "r3") \
    "lsrs r6, r6, #8\n" "uxtb r3, r6\n" PAIR_COLUMN("r9", "r5", "r3") \
    "lsrs r6, r6, #8\n" "uxtb r3, r6\n" PAIR_COLUMN("r10", "r12", "r3") \
    "lsrs r6, r6, #8\n" PAIR_COLUMN("r11", "lr", "r6")
#define PAIR_DEPTH_HALF "24"
#define PAIR_END ""
#define PAIR_BACK ""
#define PAIR_AHEAD ""
/* 24 bytes of code. */
#define PAIR_DEPTH_BY_TWO(k, offset0, offset1, offset2, offset3, beside) \
    "ldr r0, [r1, #" k "]\n" \
    "ldrh r6, [r2, #" offset0 "]\n" \
    "uxtb r3, r6\n" PAIR_COLUMN("r8", "r4", "r3") \
    "lsrs r6, r6, #8\n" PAIR_COLUMN("r9", "r5", "r6")
#define PAIR_DEPTH_BY_TWO_HALF "12"

#define PAIR_LOWER(both, upper) \
    "lsls r1, " upper ", #16\n" \
    "mov r2, " both "\n" \
    "subs r2, r2, r1\n" \
    "stm r0!, {r2}\n"

#define PAIR_CLEAR \
    "movs r4, #0\n" "movs r5, #0\n" \
    "mov r8, r4\n" "mov r9, r4\n" "mov r10, r4\n" "mov r11, r4\n" "mov r12, r4\n" "mov lr, r4\n"

#define PAIR_UPPER "mov r6, r12\n" "mov r7, lr\n"

#define PAIR_ENTER \
    "push {r0, r4-r7, lr}\n" \
    "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n" \
    "push {r4-r7}\n" \
    "mov r7, r3\n"

#define PAIR_AGAIN \
    "cmp r1, r7\n" \
    "beq 2f\n" \
    "b 1b\n" \
    "2:\n" \
    "ldr r0, [sp, #16]\n"

#define PAIR_LEAVE \
    "pop {r4-r7}\n" \
    "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n" \
    "pop {r0, r4-r7, pc}\n"

/* Sums of the rows are r8 and r9; halfwords are stored as they come, since no register is left to join them. */
__asm(CM_ASM_FUNCTION(cm_scalar_widen_rows)
      "push {r4-r7, lr}\n"
      "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n"
      "push {r4-r7}\n"
      "mov r11, r3\n"
      "movs r7, #0xff\n"
      "lsls r4, r7, #16\n"
      "orrs r7, r4\n" /* 0x00ff00ff */
      "movs r4, #0\n"
      "mov r8, r4\n" "mov r9, r4\n"
      "movs r3, #0x80\n"
      "lsls r4, r3, #8\n" "orrs r3, r4\n"
      "lsls r4, r3, #16\n" "orrs r3, r4\n"
      "mov r10, r3\n"
      "1:\n"
      "ldm r1!, {r3}\n"
      "ldm r2!, {r4}\n"
      "mov r5, r10\n"
      "eors r3, r5\n"
      "eors r4, r5\n"
      "lsrs r5, r3, #8\n"
      "lsrs r6, r4, #8\n"
      "ands r3, r7\n" "ands r4, r7\n" "ands r5, r7\n" "ands r6, r7\n"
      "add r8, r3\n" "add r8, r5\n" "add r9, r4\n" "add r9, r6\n"
      "strh r3, [r0, #0]\n" "strh r4, [r0, #2]\n" "strh r5, [r0, #4]\n" "strh r6, [r0, #6]\n"
      "lsrs r3, r3, #16\n" "lsrs r4, r4, #16\n" "lsrs r5, r5, #16\n" "lsrs r6, r6, #16\n"
      "strh r3, [r0, #8]\n" "strh r4, [r0, #10]\n" "strh r5, [r0, #12]\n" "strh r6, [r0, #14]\n"
      "adds r0, #16\n"
      "cmp r1, r11\n"
      "bne 1b\n"
      "mov r0, r8\n"
      "mov r1, r9\n"
      "pop {r4-r7}\n"
      "mov r8, r4\n" "mov r9, r5\n" "mov r10, r6\n" "mov r11, r7\n"
      "pop {r4-r7, pc}\n"
      CM_ASM_END);
/* clang-format on */

#endif
