/* A word of weights of nibble_product.h with Thumb-2: the shifter of AND takes nibbles out, and loads follow
   each other. 26 cycles for 16 products on a Cortex-M3. */
#ifndef NIBBLE_PRODUCT_THUMB2_H
#define NIBBLE_PRODUCT_THUMB2_H

/* clang-format off */
/* The weights are in r3, the mask is in r11. Sums of two columns each are r4 and r5 of the first row, r6 and r7 of
   the second one. */
#define NIBBLE_TWO_COLUMNS(shift, sum, next_sum, x, next_x) \
    "and.w r10, r11, r3" shift "\n" \
    "mla " sum ", r10, " x ", " sum "\n" \
    "mla " next_sum ", r10, " next_x ", " next_sum "\n"
#define NIBBLE_WORD(k) \
    "ldr.w r3, [r2, #4*" k "]\n" \
    "ldrb.w r8, [r1, #4*" k "]\n" \
    "ldrb.w r9, [r1, #4*" k "+1]\n" \
    "ldrb.w lr, [r1, #4*" k "+2]\n" \
    "ldrb.w r0, [r1, #4*" k "+3]\n" \
    NIBBLE_TWO_COLUMNS("", "r4", "r6", "r8", "r9") NIBBLE_TWO_COLUMNS(", lsr #4", "r5", "r7", "r8", "r9") \
    NIBBLE_TWO_COLUMNS(", lsr #8", "r4", "r6", "lr", "r0") NIBBLE_TWO_COLUMNS(", lsr #12", "r5", "r7", "lr", "r0")
#define NIBBLE_WORD_CODE "68"

/* The same for one row. */
#define NIBBLE_COLUMNS_OF_ROW(shift, sum, x) \
    "and.w r10, r11, r3" shift "\n" \
    "mla " sum ", r10, " x ", " sum "\n"
#define NIBBLE_ROW_WORD(k) \
    "ldr.w r3, [r2, #4*" k "]\n" \
    "ldrb.w r8, [r1, #2*" k "]\n" \
    "ldrb.w lr, [r1, #2*" k "+1]\n" \
    NIBBLE_COLUMNS_OF_ROW("", "r4", "r8") NIBBLE_COLUMNS_OF_ROW(", lsr #4", "r5", "r8") \
    NIBBLE_COLUMNS_OF_ROW(", lsr #8", "r4", "lr") NIBBLE_COLUMNS_OF_ROW(", lsr #12", "r5", "lr")
#define NIBBLE_ROW_WORD_CODE "44"

#define NIBBLE_SUM_0 "r4"
#define NIBBLE_SUM_1 "r5"
#define NIBBLE_SUM_2 "r6"
#define NIBBLE_SUM_3 "r7"
/* Adds both halves to the sums at r0. */
#define NIBBLE_PART(sum) \
    "ldrd r8, r9, [r0]\n" \
    "uxth r10, " sum "\n" \
    "add r8, r10\n" \
    "add.w r9, r9, " sum ", lsr #16\n" \
    "strd r8, r9, [r0], #8\n"

/* The halves of the first turn are the sums: r12 is 0 there. */
#define NIBBLE_FIRST_PARTS(sum, next) \
    "uxth r8, " sum "\n" \
    "lsr.w r9, " sum ", #16\n" \
    "uxth r10, " next "\n" \
    "lsr.w lr, " next ", #16\n" \
    "stm r0!, {r8-r10, lr}\n"
#define NIBBLE_ROWS_START NIBBLE_CLEAR "mov r12, #0\n"
#define NIBBLE_ROWS_PART \
    "ldr r0, " TURNS_SUMS "\n" \
    "cmp r12, #0\n" \
    "bne 8f\n" \
    NIBBLE_FIRST_PARTS(NIBBLE_SUM_0, NIBBLE_SUM_1) NIBBLE_FIRST_PARTS(NIBBLE_SUM_2, NIBBLE_SUM_3) \
    "mov r12, #1\n" \
    "b 9f\n" \
    "8:\n" \
    NIBBLE_PART(NIBBLE_SUM_0) NIBBLE_PART(NIBBLE_SUM_1) NIBBLE_PART(NIBBLE_SUM_2) NIBBLE_PART(NIBBLE_SUM_3) \
    "9:\n" \
    NIBBLE_CLEAR
#define NIBBLE_ROWS_AGAIN ""
#define NIBBLE_CLEAR "movs r4, #0\n" "movs r5, #0\n" "movs r6, #0\n" "movs r7, #0\n"
/* Registers are left for the sums of one row. */
#define NIBBLE_ROW_START NIBBLE_CLEAR "mov r9, #0\n" "mov r12, #0\n"
#define NIBBLE_PART_OF_ROW(sum, lower, upper) \
    "uxth r10, " sum "\n" \
    "add " upper ", " upper ", " sum ", lsr #16\n" \
    "add " lower ", r10\n" \
    "mov " sum ", #0\n"
#define NIBBLE_ROW_PART NIBBLE_PART_OF_ROW("r4", "r6", "r7") NIBBLE_PART_OF_ROW("r5", "r9", "r12")
#define NIBBLE_ROW_FINISH "ldr r0, " TURNS_SUMS "\n" "stm r0!, {r6, r7, r9, r12}\n"
#define NIBBLE_MASK "mov r11, #0x000f000f\n"
/* clang-format on */

#endif
