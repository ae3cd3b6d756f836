#include "cmrt/elementwise.h"

void cm_isa_dequantize_s8(const int8_t *in, int32_t zero_point, float scale, float *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        *out++ = (float)(*in++ - zero_point) * scale;
}
