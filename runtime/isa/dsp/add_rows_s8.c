#include "cmrt/add_rows.h"
#include "simd.h"

enum { MOST_ROWS = 256 }; /* whose sums always fit 16 bits */

/* Of four columns: 0 and 2, then 1 and 3 are summed side by side. */
static void add_four(const int8_t *x, int32_t count, int32_t length, int32_t *sums)
{
    for (int32_t left = count; left > 0; left -= MOST_ROWS) {
        int16x2_t even = 0, odd = 0;
        for (int32_t row = left < MOST_ROWS ? left : MOST_ROWS; row > 0; --row, x += length) {
            uint32_t bytes = load_bytes(x);
            even = add_even(even, bytes);
            odd = add_odd(odd, bytes);
        }
        sums[0] += (int16_t)even;
        sums[1] += (int16_t)odd;
        sums[2] += even >> 16;
        sums[3] += odd >> 16;
    }
}

void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums)
{
    int32_t i = 0;
    for (; i + 4 <= length; i += 4)
        add_four(rows + i, count, length, sums + i);
    for (; i < length; ++i) {
        const int8_t *x = rows + i;
        for (int32_t row = 0; row < count; ++row, x += length)
            sums[i] += *x;
    }
}
