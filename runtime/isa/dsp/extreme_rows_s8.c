#include "cmrt/extreme.h"
#include "simd.h"

#include <string.h>

static int32_t largest_of(int32_t most, const int8_t *x, int32_t count, int32_t stride, int32_t flip)
{
    for (; count > 0; --count, x += stride)
        most = (*x ^ flip) > most ? *x ^ flip : most;
    return most;
}

/* Of elements that follow each other. */
static int32_t largest_of_run(int32_t most, const int8_t *x, int32_t count, int32_t flip)
{
    const int8_t *end = x + (count & ~3);
    uint32_t words = 0x80808080;
    for (; x < end; x += 4)
        words = larger_bytes(load_bytes(x) ^ (uint32_t)flip, words);
    words = larger_bytes(words, words >> 16);
    words = larger_bytes(words, words >> 8 & 0xFF);
    most = (int8_t)words > most ? (int8_t)words : most;
    return largest_of(most, x, count & 3, 1, flip);
}

void cm_isa_extreme_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t flip, int8_t *extremes)
{
    if (length == 1) {
        *extremes = (int8_t)(largest_of_run(*extremes ^ flip, rows, count, flip) ^ flip);
        return;
    }
    int32_t i = 0;
    for (; i + 4 <= length; i += 4) {
        uint32_t words = load_bytes(extremes + i) ^ (uint32_t)flip;
        const int8_t *x = rows + i;
        for (int32_t row = count; row > 0; --row, x += length)
            words = larger_bytes(load_bytes(x) ^ (uint32_t)flip, words);
        words ^= (uint32_t)flip;
        memcpy(extremes + i, &words, sizeof words);
    }
    for (; i < length; ++i)
        extremes[i] = (int8_t)(largest_of(extremes[i] ^ flip, rows + i, count, length, flip) ^ flip);
}
