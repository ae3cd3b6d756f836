/* int16 rows by int8 weights without SIMD, four columns at a time, with sums modulo 2^32.

   Armv6-M loads unsigned numbers in one instruction, but not signed ones: activations are plus 32768, weights
   plus 128. Two rows are words of both at each depth. On Armv6-M, the products of a word are those of the
   first row plus 2^16 times those of the second one, which are made once more by themselves. */
#ifndef SHORT_PRODUCT_H
#define SHORT_PRODUCT_H

#include <stdint.h>
#include <string.h>

/* The sums of four columns: of two rows, or of one. depth: at least one. */
typedef void short_function(uint32_t *sums, const uint16_t *rows, const uint8_t *weights, int32_t depth);

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
#include "turns.h"

/* clang-format off */
#ifdef __thumb2__
/* The weights of four columns are one word, as it is a factor of all of them, and shifted right one of fewer: sums
   of those less 256 times the next ones are a column's. 23 cycles for eight products on a Cortex-M3. */
#define SHORT_TWO_ROWS(sum, next) "mla " sum ", r0, r12, " sum "\n" "mla " next ", r3, r12, " next "\n"
#define SHORT_NEXT_COLUMNS(word) "lsr.w " word ", " word ", #8\n"
#define SHORT_DEPTH(k) \
    "ldr.w r12, [r2, #4*" k "]\n" \
    "ldrh.w r0, [r1, #4*" k "]\n" \
    "ldrh.w r3, [r1, #4*" k "+2]\n" \
    SHORT_TWO_ROWS("r8", "r4") SHORT_NEXT_COLUMNS("r12") SHORT_TWO_ROWS("r9", "r5") \
    SHORT_NEXT_COLUMNS("r12") SHORT_TWO_ROWS("r10", "r6") SHORT_NEXT_COLUMNS("r12") SHORT_TWO_ROWS("r11", "r7")
#define SHORT_DEPTH_CODE "56"
#define SHORT_CLEAR \
    "movs r4, #0\n" "movs r5, #0\n" "movs r6, #0\n" "movs r7, #0\n" \
    "mov r8, r4\n" "mov r9, r4\n" "mov r10, r4\n" "mov r11, r4\n"
#define SHORT_PART(sum, rest) "sub " sum ", " sum ", " rest ", lsl #8\n"
#define SHORT_PART_ROW(first, second, third, last) \
    SHORT_PART(first, second) SHORT_PART(second, third) SHORT_PART(third, last)
#define SHORT_FINISH \
    SHORT_PART_ROW("r8", "r9", "r10", "r11") SHORT_PART_ROW("r4", "r5", "r6", "r7") \
    "stm r0!, {r8-r11}\n" "stm r0!, {r4-r7}\n"

/* One row, the same way. */
#define SHORT_ROW_DEPTH(k) \
    "ldr.w r12, [r2, #4*" k "]\n" \
    "ldrh.w r0, [r1, #2*" k "]\n" \
    "mla r4, r0, r12, r4\n" SHORT_NEXT_COLUMNS("r12") \
    "mla r5, r0, r12, r5\n" SHORT_NEXT_COLUMNS("r12") \
    "mla r6, r0, r12, r6\n" SHORT_NEXT_COLUMNS("r12") \
    "mla r7, r0, r12, r7\n"
#define SHORT_ROW_DEPTH_CODE "36"
#define SHORT_ROW_FINISH SHORT_PART_ROW("r4", "r5", "r6", "r7") "stm r0!, {r4-r7}\n"
#else
/* The word of both rows is in r0, its upper half in r7. */
#define SHORT_COLUMN(w, both, upper) \
    "ldrb r3, [r2, #" w "]\n" \
    "mov r6, r3\n" \
    "muls r6, r7, r6\n" \
    "add " upper ", r6\n" \
    "muls r3, r0, r3\n" \
    "add " both ", r3\n"
#define SHORT_DEPTH(k) \
    "ldr r0, [r1, #4*" k "]\n" \
    "lsrs r7, r0, #16\n" \
    SHORT_COLUMN("4*" k, "r8", "r4") SHORT_COLUMN("4*" k "+1", "r9", "r5") \
    SHORT_COLUMN("4*" k "+2", "r10", "r12") SHORT_COLUMN("4*" k "+3", "r11", "lr")
#define SHORT_DEPTH_CODE "52"
#define SHORT_CLEAR \
    "movs r4, #0\n" "movs r5, #0\n" \
    "mov r8, r4\n" "mov r9, r4\n" "mov r10, r4\n" "mov r11, r4\n" "mov r12, r4\n" "mov lr, r4\n"
#define SHORT_LOWER(both, upper) \
    "lsls r1, " upper ", #16\n" \
    "mov r2, " both "\n" \
    "subs r2, r2, r1\n" \
    "stm r0!, {r2}\n"
#define SHORT_FINISH \
    "mov r6, r12\n" "mov r7, lr\n" \
    SHORT_LOWER("r8", "r4") SHORT_LOWER("r9", "r5") SHORT_LOWER("r10", "r6") SHORT_LOWER("r11", "r7") \
    "stm r0!, {r4-r7}\n"

/* One row. The weights of four columns are one word, because flash takes long for each read. */
#define SHORT_COLUMN_OF_ROW(take, w, sum) \
    take \
    "muls " w ", r0, " w "\n" \
    "add " sum ", " w "\n"
#define SHORT_ROW_DEPTH(k) \
    "ldrh r0, [r1, #2*" k "]\n" \
    "ldr r6, [r2, #4*" k "]\n" \
    SHORT_COLUMN_OF_ROW("uxtb r3, r6\n", "r3", "r8") \
    SHORT_COLUMN_OF_ROW("lsrs r6, r6, #8\n" "uxtb r3, r6\n", "r3", "r9") \
    SHORT_COLUMN_OF_ROW("lsrs r6, r6, #8\n" "uxtb r3, r6\n", "r3", "r10") \
    SHORT_COLUMN_OF_ROW("lsrs r6, r6, #8\n", "r6", "r11")
#define SHORT_ROW_DEPTH_CODE "32"
#define SHORT_ROW_FINISH \
    "mov r4, r8\n" "mov r5, r9\n" "mov r6, r10\n" "mov r7, r11\n" \
    "stm r0!, {r4-r7}\n"
#endif

short_function cm_scalar_multiply_shorts, cm_scalar_multiply_shorts_by_row;
__asm(TURNS_FUNCTION(cm_scalar_multiply_shorts, SHORT_DEPTH, SHORT_DEPTH_CODE, "2", SHORT_CLEAR, "", "", SHORT_FINISH));
__asm(TURNS_FUNCTION(cm_scalar_multiply_shorts_by_row, SHORT_ROW_DEPTH, SHORT_ROW_DEPTH_CODE, "1", SHORT_CLEAR, "", "",
      SHORT_ROW_FINISH));
/* clang-format on */
#else
static inline void add_shorts(uint32_t *sums, const uint16_t *rows, const uint8_t *weights, int32_t depth,
                              int32_t count)
{
    enum { COLUMNS = 4 };
    memset(sums, 0, (size_t)count * COLUMNS * sizeof *sums);
    for (; depth > 0; --depth, rows += count, weights += COLUMNS)
        for (int32_t r = 0; r < count; ++r)
            for (int32_t i = 0; i < COLUMNS; ++i)
                sums[r * COLUMNS + i] += (uint32_t)rows[r] * weights[i];
}

static void cm_scalar_multiply_shorts(uint32_t *sums, const uint16_t *rows, const uint8_t *weights,
                                      int32_t depth)
{
    add_shorts(sums, rows, weights, depth, 2);
}

static void cm_scalar_multiply_shorts_by_row(uint32_t *sums, const uint16_t *rows, const uint8_t *weights,
                                             int32_t depth)
{
    add_shorts(sums, rows, weights, depth, 1);
}
#endif

#endif
