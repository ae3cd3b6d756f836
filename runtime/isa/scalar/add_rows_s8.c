#include "cmrt/add_rows.h"

void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums)
{
    for (int32_t i = 0; i < length; ++i) {
        const int8_t *x = rows + i;
        int32_t sum = sums[i];
        for (int32_t row = 0; row < count; ++row, x += length)
            sum += *x;
        sums[i] = sum;
    }
}
