#include "cmrt/elementwise.h"

void cm_isa_maximum_s8(const int8_t *lhs, const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        int8_t a = *lhs++, b = *rhs;
        rhs += rhs_step;
        *out++ = a > b ? a : b;
    }
}
