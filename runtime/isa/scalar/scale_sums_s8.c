#include "cmrt/sum_groups.h"

#include "cmrt/arithmetic.h"

void cm_isa_scale_sums_s8(const struct cm_sum_scale *scale, const int32_t *sums, int8_t *out, int32_t count)
{
    const int32_t zero = scale->zero_point;
    for (int32_t i = 0; i < count; ++i) {
        int32_t scaled = cm_requantize(sums[i] + scale->input_offset, scale->multiplier, scale->shift);
        out[i] = (int8_t)(cm_clamp(scaled, INT8_MIN - zero, INT8_MAX - zero) + zero);
    }
}
