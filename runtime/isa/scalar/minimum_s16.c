#include "cmrt/elementwise.h"

void cm_isa_minimum_s16(const int16_t *lhs, const int16_t *rhs, int32_t rhs_step, int16_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        int16_t first = *lhs++, second = *rhs;
        rhs += rhs_step;
        *out++ = first < second ? first : second;
    }
}
