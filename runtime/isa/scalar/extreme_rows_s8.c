#include "cmrt/extreme.h"

void cm_isa_extreme_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t flip, int8_t *extremes)
{
    for (int32_t i = 0; i < length; ++i) {
        const int8_t *x = rows + i;
        int32_t most = extremes[i] ^ flip;
        for (int32_t row = count; row > 0; --row, x += length)
            most = (*x ^ flip) > most ? *x ^ flip : most;
        extremes[i] = (int8_t)(most ^ flip);
    }
}
