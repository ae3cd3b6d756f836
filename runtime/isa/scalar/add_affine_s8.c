#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

void cm_isa_add_affine_s8(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    const struct cm_affine by = *affine;
    for (int32_t i = 0; i < count; ++i) {
        int32_t sum = *lhs++ * by.lhs_factor + *rhs * by.rhs_factor + by.offset;
        rhs += rhs_step;
        *out++ = (int8_t)cm_clamp(sum >> by.shift, by.minimum, by.maximum);
    }
}
