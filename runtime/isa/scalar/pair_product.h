/* Two int8 rows by four columns at a time without SIMD.

   One word holds a depth of both rows, offset by 128 as in row_product.h: one multiplication by a weight
   makes two products of 16 bits. Words are summed as they are, and their upper halves once more, so that
   those of the lower halves are the difference. */
#ifndef PAIR_PRODUCT_H
#define PAIR_PRODUCT_H

#include "cmrt/assembly.h"
#include "row_product.h"

#include <stdint.h>
#include <string.h>

struct pair {
    uint32_t lower, upper;
};

/* Of each row, of each column. */
struct pair_sums {
    uint32_t lower[COLUMNS], upper[COLUMNS];
};

/* Depths whose sums of every other number fit 16 bits, and a multiple of four. */
enum { SUMMED = 512 };

/* Offsets the numbers of two rows, from words at `lower` and `upper` on to `end`, behind some fours of the
   lower one. Returns sums of the results as four 16-bit numbers: two parts of the lower row's, and of the
   upper one's. */
#if defined(__thumb__) && !defined(__thumb2__) && !defined(CM_PORTABLE)
uint64_t cm_scalar_widen_rows(uint32_t *out, const int8_t *lower, const int8_t *upper, const int8_t *end);
#else
/* Of two words of 16-bit numbers, the lower ones, or the upper ones, as one word. */
static inline uint32_t join_lower(uint32_t low, uint32_t high)
{
    return (low & 0xffff) | high << 16;
}

static inline uint32_t join_upper(uint32_t low, uint32_t high)
{
    return low >> 16 | high >> 16 << 16;
}

static inline uint64_t cm_scalar_widen_rows(uint32_t *out, const int8_t *lower, const int8_t *upper,
                                            const int8_t *end)
{
    uint32_t sums[2] = {0, 0};
    for (; lower < end; lower += 4, upper += 4, out += 4) {
        uint32_t four, next;
        memcpy(&four, __builtin_assume_aligned(lower, 4), 4);
        memcpy(&next, __builtin_assume_aligned(upper, 4), 4);
        four ^= UINT32_C(0x80808080);
        next ^= UINT32_C(0x80808080);
        uint32_t even = four & 0x00ff00ff, next_even = next & 0x00ff00ff;
        uint32_t odd = four >> 8 & 0x00ff00ff, next_odd = next >> 8 & 0x00ff00ff;
        out[0] = join_lower(even, next_even);
        out[1] = join_lower(odd, next_odd);
        out[2] = join_upper(even, next_even);
        out[3] = join_upper(odd, next_odd);
        sums[0] += even + odd;
        sums[1] += next_even + next_odd;
    }
    return (uint64_t)sums[1] << 32 | sums[0];
}
#endif

/* The sum of both halves. */
static inline uint32_t add_halves(uint32_t halves)
{
    return (halves & 0xffff) + (halves >> 16);
}

/* Offsets two rows by 128: a word for each depth. Returns less the sums of the results. */
static inline struct pair widen_pair(uint32_t *out, const int8_t *lower, const int8_t *upper, int32_t depth)
{
    struct pair sum = {0, 0};
    int32_t k = 0;
    if (((uintptr_t)lower | (uintptr_t)upper) % 4 == 0)
        for (int32_t count; depth - k >= 4; k += count) {
            count = depth - k < SUMMED ? (depth - k) & -4 : SUMMED;
            uint64_t sums = cm_scalar_widen_rows(out + k, lower + k, upper + k, lower + k + count);
            sum.lower -= add_halves((uint32_t)sums);
            sum.upper -= add_halves((uint32_t)(sums >> 32));
        }
    for (; k < depth; ++k) {
        uint32_t low = (uint32_t)(lower[k] + 128), high = (uint32_t)(upper[k] + 128);
        sum.lower -= low;
        sum.upper -= high;
        out[k] = low | high << 16;
    }
    return sum;
}

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
void cm_scalar_multiply_rows(struct pair_sums *sums, const uint32_t *rows, const uint8_t *weights,
                             const uint32_t *end);
void cm_scalar_multiply_rows_by_two(struct pair_sums *sums, const uint32_t *rows, const uint8_t *weights,
                                    const uint32_t *end);
#ifdef __thumb2__
#include "pair_product_thumb2.h"
#else
#include "pair_product_thumb1.h"
#endif

/* clang-format off */
/* Where loads do not go on by themselves: back by r3 bytes, ahead by a turn. */
#define BACK_BY_OFFSETS \
    "subs r1, r1, r3\n" \
    "subs r2, r2, r3\n"
#define AHEAD_BY_OFFSETS \
    "adds r1, #32\n" \
    "adds r2, #32\n"
/* Words are loaded into r0, and the end of the rows is in r3 at first. `both` and `upper` of each column are r8
   and r4, r9 and r5, r10 and r6, r11 and r7, the last two from PAIR_UPPER on. A turn has eight depths; if their number is no multiple of that, the
   first turn begins within. back: by the depths that leaves out, r3 bytes of rows and of weights; ahead: by a turn.
   half: half the bytes of code for a depth; PAIR_END: loads the end beside the last weight; store: stores the sums
   at r0. */
#define PAIR_FUNCTION(name, depth, half, back, ahead, store) \
    CM_ASM_FUNCTION(name) \
    PAIR_ENTER \
    "subs r3, r1, r3\n" \
    "movs r4, #31\n" \
    "ands r3, r3, r4\n" \
    back \
    "lsrs r3, r3, #1\n" \
    "movs r4, #" half "\n" \
    "muls r3, r4, r3\n" \
    PAIR_CLEAR \
    ".p2align 2\n" \
    "add pc, r3\n" \
    "nop\n" \
    "1:\n" \
    depth("0", "0", "1", "2", "3", "") \
    depth("4", "4", "5", "6", "7", "") \
    depth("8", "8", "9", "10", "11", "") \
    depth("12", "12", "13", "14", "15", "") \
    depth("16", "16", "17", "18", "19", "") \
    depth("20", "20", "21", "22", "23", "") \
    depth("24", "24", "25", "26", "27", "") \
    depth("28", "28", "29", "30", "31", PAIR_END) \
    ahead \
    PAIR_AGAIN \
    store \
    PAIR_LEAVE \
    CM_ASM_END

__asm(PAIR_FUNCTION(cm_scalar_multiply_rows, PAIR_DEPTH, PAIR_DEPTH_HALF, PAIR_BACK, PAIR_AHEAD,
      PAIR_UPPER
      PAIR_LOWER("r8", "r4") PAIR_LOWER("r9", "r5") PAIR_LOWER("r10", "r6") PAIR_LOWER("r11", "r7")
      "stm r0!, {r4-r7}\n"));
__asm(PAIR_FUNCTION(cm_scalar_multiply_rows_by_two, PAIR_DEPTH_BY_TWO, PAIR_DEPTH_BY_TWO_HALF,
      BACK_BY_OFFSETS, AHEAD_BY_OFFSETS,
      PAIR_LOWER("r8", "r4") PAIR_LOWER("r9", "r5")
      "adds r0, #8\n"
      "stm r0!, {r4-r5}\n"));
/* clang-format on */

/* Of the first `count` columns. */
static inline void multiply_rows(struct pair_sums *sums, const uint32_t *rows, const uint8_t *weights,
                                 int32_t depth, int32_t count)
{
    if (depth == 0)
        memset(sums, 0, sizeof *sums);
    else if (count <= 2)
        cm_scalar_multiply_rows_by_two(sums, rows, weights, rows + depth);
    else
        cm_scalar_multiply_rows(sums, rows, weights, rows + depth);
}
#else
static inline void multiply_rows(struct pair_sums *sums, const uint32_t *rows, const uint8_t *weights,
                                 int32_t depth, int32_t count)
{
    (void)count;
    memset(sums, 0, sizeof *sums);
#pragma GCC unroll 4
    for (int32_t k = 0; k < depth; ++k, weights += COLUMNS)
        for (int32_t i = 0; i < COLUMNS; ++i) {
            uint32_t products = rows[k] * weights[i];
            sums->lower[i] += products;
            sums->upper[i] += products >> 16;
        }
    for (int32_t i = 0; i < COLUMNS; ++i)
        sums->lower[i] -= sums->upper[i] << 16;
}
#endif

#endif
