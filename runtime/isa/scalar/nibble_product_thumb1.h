/* A word of weights of nibble_product.h in the eight low registers of Armv6-M. */
#ifndef NIBBLE_PRODUCT_THUMB1_H
#define NIBBLE_PRODUCT_THUMB1_H

/* clang-format off */
/* The weights are in r0, the mask is in r5. Sums of two columns each are r8 and r9 of the first row, r10 and r11 of
   the second one. */
#define NIBBLE_TWO_COLUMNS(take, sum, next_sum) \
    take \
    "ands r3, r5\n" \
    "mov r4, r3\n" \
    "muls r3, r6, r3\n" \
    "add " sum ", r3\n" \
    "muls r4, r7, r4\n" \
    "add " next_sum ", r4\n"
#define NIBBLE_WORD(k) \
    "ldr r0, [r2, #4*" k "]\n" \
    "ldrb r6, [r1, #4*" k "]\n" \
    "ldrb r7, [r1, #4*" k "+1]\n" \
    NIBBLE_TWO_COLUMNS("mov r3, r0\n", "r8", "r10") NIBBLE_TWO_COLUMNS("lsrs r3, r0, #4\n", "r9", "r11") \
    "ldrb r6, [r1, #4*" k "+2]\n" \
    "ldrb r7, [r1, #4*" k "+3]\n" \
    NIBBLE_TWO_COLUMNS("lsrs r3, r0, #8\n", "r8", "r10") NIBBLE_TWO_COLUMNS("lsrs r3, r0, #12\n", "r9", "r11")
#define NIBBLE_WORD_CODE "66"

/* The same for one row. */
#define NIBBLE_COLUMNS_OF_ROW(take, sum) \
    take \
    "ands r3, r5\n" \
    "muls r3, r6, r3\n" \
    "add " sum ", r3\n"
#define NIBBLE_ROW_WORD(k) \
    "ldr r0, [r2, #4*" k "]\n" \
    "ldrb r6, [r1, #2*" k "]\n" \
    NIBBLE_COLUMNS_OF_ROW("mov r3, r0\n", "r8") NIBBLE_COLUMNS_OF_ROW("lsrs r3, r0, #4\n", "r9") \
    "ldrb r6, [r1, #2*" k "+1]\n" \
    NIBBLE_COLUMNS_OF_ROW("lsrs r3, r0, #8\n", "r8") NIBBLE_COLUMNS_OF_ROW("lsrs r3, r0, #12\n", "r9")
#define NIBBLE_ROW_WORD_CODE "38"

#define NIBBLE_SUM_0 "r8"
#define NIBBLE_SUM_1 "r9"
#define NIBBLE_SUM_2 "r10"
#define NIBBLE_SUM_3 "r11"
/* Adds both halves to the sums at r0. */
#define NIBBLE_PART(sum) \
    "mov r3, " sum "\n" \
    "ldr r6, [r0]\n" \
    "ldr r7, [r0, #4]\n" \
    "lsrs r4, r3, #16\n" \
    "uxth r3, r3\n" \
    "adds r6, r6, r3\n" \
    "adds r7, r7, r4\n" \
    "stm r0!, {r6, r7}\n"

#define NIBBLE_CLEAR_AGAIN "movs r4, #0\n" "mov r8, r4\n" "mov r9, r4\n" "mov r10, r4\n" "mov r11, r4\n"
/* The halves of the first turn are the sums: r12 says where to go on, as lr does for the next ones. */
#define NIBBLE_FIRST_PARTS(sum, next) \
    "mov r4, " sum "\n" \
    "uxth r3, r4\n" \
    "lsrs r4, r4, #16\n" \
    "mov r7, " next "\n" \
    "uxth r6, r7\n" \
    "lsrs r7, r7, #16\n" \
    "stm r0!, {r3, r4, r6, r7}\n"
#define NIBBLE_ROWS_START NIBBLE_CLEAR_AGAIN "adr r4, 8f\n" "mov r12, r4\n" "adr r4, 7f\n" "mov lr, r4\n"
#define NIBBLE_ROWS_PART \
    "ldr r0, " TURNS_SUMS "\n" \
    "mov pc, r12\n" \
    ".p2align 2\n" \
    "7:\n" \
    NIBBLE_PART(NIBBLE_SUM_0) NIBBLE_PART(NIBBLE_SUM_1) NIBBLE_PART(NIBBLE_SUM_2) NIBBLE_PART(NIBBLE_SUM_3) \
    "b 9f\n" \
    ".p2align 2\n" \
    "8:\n" \
    NIBBLE_FIRST_PARTS(NIBBLE_SUM_0, NIBBLE_SUM_1) NIBBLE_FIRST_PARTS(NIBBLE_SUM_2, NIBBLE_SUM_3) \
    "9:\n"
#define NIBBLE_ROWS_AGAIN "mov r12, lr\n" NIBBLE_CLEAR_AGAIN

/* Registers are left for the sums of one row. */
#define NIBBLE_ROW_CLEAR "movs r4, #0\n" "mov r8, r4\n" "mov r9, r4\n"
#define NIBBLE_ROW_START NIBBLE_ROW_CLEAR "mov r10, r4\n" "mov r11, r4\n" "mov r12, r4\n" "mov lr, r4\n"
#define NIBBLE_PART_OF_ROW(sum, lower, upper) \
    "mov r3, " sum "\n" \
    "uxth r4, r3\n" \
    "lsrs r3, r3, #16\n" \
    "add " lower ", r4\n" \
    "add " upper ", r3\n"
#define NIBBLE_ROW_PART NIBBLE_PART_OF_ROW("r8", "r10", "r11") NIBBLE_PART_OF_ROW("r9", "r12", "lr") NIBBLE_ROW_CLEAR
#define NIBBLE_ROW_FINISH \
    "mov r4, r10\n" "mov r5, r11\n" "mov r6, r12\n" "mov r7, lr\n" \
    "ldr r0, " TURNS_SUMS "\n" \
    "stm r0!, {r4-r7}\n"
#define NIBBLE_MASK "movs r5, #15\n" "lsls r4, r5, #16\n" "orrs r5, r4\n"
/* clang-format on */

#endif
