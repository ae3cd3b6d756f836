#include "cmrt/elementwise_f32.h"

void cm_isa_clamp_f32(float low, float high, const float *in, float *out, int32_t count)
{
    cm_clamp_loop(low, high, in, out, count);
}
