/* int8 matrix product without SIMD: a row by four columns at a time.

   Armv6-M loads unsigned bytes in one instruction, but not signed ones. So both factors are offset by 128:
   sum x w = sum (x + 128)(w + 128) - 128 sum (x + 128) - 128 sum w, where the last term is in the bias. */
#ifndef ROW_PRODUCT_H
#define ROW_PRODUCT_H

#include <stdint.h>
#include <string.h>

enum { COLUMNS = 4, DEPTHS = 8 };

/* Four columns: their weights follow, depth by depth, with zeros up to a multiple of eight depths; the last
   block repeats the last column. */
struct block {
    int32_t bias[COLUMNS], multiplier[COLUMNS], shift[COLUMNS];
};

struct sums {
    uint32_t column[COLUMNS];
};

/* Offsets a row by 128. Returns less the sum of the results. */
static inline uint32_t shift_row(uint8_t *out, const int8_t *row, int32_t depth)
{
    uint32_t sum = 0;
    int32_t k = 0;
    if ((uintptr_t)row % 4 == 0)
        for (; k + 4 <= depth; k += 4) {
            uint32_t four;
            memcpy(&four, __builtin_assume_aligned(row + k, 4), 4);
            four ^= UINT32_C(0x80808080);
            memcpy(__builtin_assume_aligned(out + k, 4), &four, 4);
            four = (four & 0x00ff00ff) + (four >> 8 & 0x00ff00ff);
            sum -= (four & 0xffff) + (four >> 16);
        }
    for (; k < depth; ++k) {
        out[k] = (uint8_t)(row[k] ^ 0x80);
        sum -= out[k];
    }
    for (; k % DEPTHS != 0; ++k)
        out[k] = 0;
    return sum;
}

#if defined(__thumb__) && !defined(__ARM_FEATURE_DSP) && !defined(CM_PORTABLE)
/* clang-format off */
#ifdef __thumb2__
/* The weights of columns 0 and 2, then of 1 and 3, lie in the halves of a word: one multiplication makes two
   products, whose upper halves are summed by the shifter of ADD. 21 cycles for eight products on a Cortex-M3. */
#define TWO_COLUMNS(both, upper, x, pair) \
    "mul " pair ", " x ", " pair "\n" \
    "add " both ", " pair "\n" \
    "add.w " upper ", " upper ", " pair ", lsr #16\n"
#define FOUR_COLUMNS(x, weights) \
    "and.w %[odd], %[mask], " weights ", lsr #8\n" \
    "and.w " weights ", " weights ", %[mask]\n" \
    TWO_COLUMNS("%[both0]", "%[upper0]", x, weights) \
    TWO_COLUMNS("%[both1]", "%[upper1]", x, "%[odd]")
#define TWO_DEPTHS(k, next, weights, next_weights) \
    "ldr.w %[w], [%[weights], #" weights "]\n" \
    "ldr.w %[next_w], [%[weights], #" next_weights "]\n" \
    "ldrb.w %[x], [%[row], #" k "]\n" \
    "ldrb.w %[next_x], [%[row], #" next "]\n" \
    FOUR_COLUMNS("%[x]", "%[w]") FOUR_COLUMNS("%[next_x]", "%[next_w]")

#define EIGHT_DEPTHS \
    TWO_DEPTHS("0", "1", "0", "4") \
    TWO_DEPTHS("2", "3", "8", "12") \
    TWO_DEPTHS("4", "5", "16", "20") \
    TWO_DEPTHS("6", "7", "24", "28")
#define EIGHT_MORE \
    TWO_DEPTHS("8", "9", "32", "36") \
    TWO_DEPTHS("10", "11", "40", "44") \
    TWO_DEPTHS("12", "13", "48", "52") \
    TWO_DEPTHS("14", "15", "56", "60")

/* If the number of eights is odd, the first turn begins within. */
static inline struct sums multiply(const uint8_t *row, const uint8_t *weights, int32_t depth)
{
    uint32_t both0 = 0, both1 = 0, upper0 = 0, upper1 = 0;
    const uint8_t *end = row + depth;
    uint32_t x, next_x, w, next_w, odd = (uint32_t)depth & DEPTHS;
    if (depth > 0)
        __asm(".syntax unified\n"
              "cmp %[odd], #0\n"
              "beq 1f\n"
              "subs %[row], #8\n"
              "subs %[weights], #32\n"
              "b 2f\n"
              "1:\n"
              EIGHT_DEPTHS
              "2:\n"
              EIGHT_MORE
              "adds %[row], #16\n"
              "adds %[weights], #64\n"
              "cmp %[row], %[end]\n"
              "bne 1b\n"
              : [both0] "+r"(both0), [both1] "+r"(both1), [upper0] "+r"(upper0), [upper1] "+r"(upper1),
                [x] "=&r"(x), [next_x] "=&r"(next_x), [w] "=&r"(w), [next_w] "=&r"(next_w), [odd] "+&r"(odd),
                [row] "+r"(row), [weights] "+r"(weights)
              : [end] "r"(end), [mask] "r"(0x00ff00ff)
              : "cc", "memory");
    return (struct sums){{both0 - (upper0 << 16), both1 - (upper1 << 16), upper0, upper1}};
}
#else
#if defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
/* At -Os gcc has no register for "h", which names the upper ones, but takes r12 and lr for "r"; so there are too
   few for words. */
#define COLUMN(sum, w) \
    "muls " w ", %[x], " w "\n" \
    "add " sum ", " sum ", " w "\n"
#define DEPTH(k, offset0, offset1, offset2, offset3) \
    "ldrb %[x], [%[row], #" k "]\n" \
    "ldrb %[w], [%[weights], #" offset0 "]\n" COLUMN("%[sum0]", "%[w]") \
    "ldrb %[w], [%[weights], #" offset1 "]\n" COLUMN("%[sum1]", "%[w]") \
    "ldrb %[w], [%[weights], #" offset2 "]\n" COLUMN("%[sum2]", "%[w]") \
    "ldrb %[w], [%[weights], #" offset3 "]\n" COLUMN("%[sum3]", "%[w]")

static inline struct sums multiply(const uint8_t *row, const uint8_t *weights, int32_t depth)
{
    uint32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, x, w;
    const uint8_t *end = row + depth;
    if (depth > 0)
        __asm(".syntax unified\n"
              "1:\n"
              DEPTH("0", "0", "1", "2", "3") DEPTH("1", "4", "5", "6", "7")
              DEPTH("2", "8", "9", "10", "11") DEPTH("3", "12", "13", "14", "15")
              DEPTH("4", "16", "17", "18", "19") DEPTH("5", "20", "21", "22", "23")
              DEPTH("6", "24", "25", "26", "27") DEPTH("7", "28", "29", "30", "31")
              "adds %[weights], #32\n"
              "adds %[row], #8\n"
              "cmp %[row], %[end]\n"
              "bne 1b\n"
              : [sum0] "+r"(sum0), [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3), [x] "=&l"(x),
                [w] "=&l"(w), [row] "+l"(row), [weights] "+l"(weights)
              : [end] "l"(end)
              : "cc", "memory");
    return (struct sums){{sum0, sum1, sum2, sum3}};
}
#else
/* As with Thumb-2, but each upper half is shifted down for its sum: 31 cycles for eight products. The weights of
   four columns are one word, because flash takes long for each read, too. */
#define TWO_COLUMNS(both, upper, pair) \
    "muls " pair ", %[x], " pair "\n" \
    "add " both ", " both ", " pair "\n" \
    "lsrs " pair ", " pair ", #16\n" \
    "add " upper ", " upper ", " pair "\n"
#define DEPTH(k, four) \
    "ldrb %[x], [%[row], #" k "]\n" \
    "movs %[w], " four "\n" \
    "ands %[w], %[mask]\n" TWO_COLUMNS("%[both0]", "%[upper0]", "%[w]") \
    "lsrs " four ", " four ", #8\n" \
    "ands " four ", %[mask]\n" TWO_COLUMNS("%[both1]", "%[upper1]", four)
#define TWO_DEPTHS(k, next) \
    "ldm %[weights]!, {%[four], %[after]}\n" DEPTH(k, "%[four]") DEPTH(next, "%[after]")

static inline struct sums multiply(const uint8_t *row, const uint8_t *weights, int32_t depth)
{
    uint32_t both0 = 0, both1 = 0, upper0 = 0, upper1 = 0, x, w;
    const uint8_t *end = row + depth;
    /* LDM takes registers in ascending order. */
    register uint32_t four __asm("r4"), after __asm("r5");
    if (depth > 0)
        __asm(".syntax unified\n"
              "1:\n"
              TWO_DEPTHS("0", "1") TWO_DEPTHS("2", "3") TWO_DEPTHS("4", "5") TWO_DEPTHS("6", "7")
              "adds %[row], #8\n"
              "cmp %[row], %[end]\n"
              "bne 1b\n"
              : [both0] "+h"(both0), [both1] "+h"(both1), [upper0] "+h"(upper0), [upper1] "+h"(upper1),
                [x] "=&l"(x), [w] "=&l"(w), [four] "=&l"(four), [after] "=&l"(after), [row] "+l"(row),
                [weights] "+l"(weights)
              : [end] "h"(end), [mask] "l"(0x00ff00ff)
              : "cc", "memory");
    return (struct sums){{both0 - (upper0 << 16), both1 - (upper1 << 16), upper0, upper1}};
}
#endif
#endif
/* clang-format on */
#else
static inline struct sums multiply(const uint8_t *row, const uint8_t *weights, int32_t depth)
{
    uint32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
#pragma GCC unroll 4
    for (int32_t k = 0; k < depth; ++k, weights += COLUMNS) {
        uint32_t x = row[k];
        sum0 += x * weights[0];
        sum1 += x * weights[1];
        sum2 += x * weights[2];
        sum3 += x * weights[3];
    }
    return (struct sums){{sum0, sum1, sum2, sum3}};
}
#endif

#endif
