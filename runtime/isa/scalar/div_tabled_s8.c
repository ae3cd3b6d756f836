#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_div_tabled_s8(const struct cm_tabled_quotient *quotient, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_tabled_quotient by = *quotient;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t word = by.factors[(uint8_t)*rhs];
        const int32_t product = (*lhs - by.lhs_zero_point) * (word >> 8);
        /* One less than the shift: the last bit is rounded. */
        const int32_t twice = product >> (uint8_t)~word;
        *out++ = (int8_t)cm_clamp(((twice + 1) >> 1) + by.zero_point, INT8_MIN, INT8_MAX);
        lhs += by.lhs_step;
        rhs += rhs_step;
    }
}
