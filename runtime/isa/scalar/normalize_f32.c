#include "cmrt/normalization.h"

void cm_isa_normalize_f32(const struct cm_normalized *by, const float *in, float *out, int32_t count)
{
    cm_normalize_loop(*by, in, out, count);
}
