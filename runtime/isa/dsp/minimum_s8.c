#include "extremes.h"

void cm_isa_minimum_s8(const int8_t *lhs, const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count)
{
    choose(smaller_bytes, lhs, rhs, rhs_step, out, count);
}
