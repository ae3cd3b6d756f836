#include "cmrt/normalization.h"

void cm_isa_moments_f32(const float *x, int32_t groups, int32_t count, struct cm_moments *moments)
{
    for (int32_t i = 0; i < groups; ++i)
        moments[i] = cm_moments_of(x + i * count, count);
}
