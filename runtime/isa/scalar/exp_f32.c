#include "cmrt/exp.h"
#include "cmrt/functions.h"

void cm_isa_exp_f32(const float *in, float less, float *out, int32_t count)
{
    for (const float *end = in + count; in < end; ++in)
        *out++ = cm_exp(*in - less);
}
