#include "cmrt/gates.h"

int32_t cm_isa_filter_s16(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count,
                          int32_t sum)
{
    for (int32_t i = 0; i < count; ++i) {
        int16_t number = from[i];
        to[i] = number;
        sum = cm_wrapping_add(sum, number * weights[i]);
    }
    return sum;
}
