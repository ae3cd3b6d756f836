#include "cmrt/elementwise.h"

void cm_isa_lookup_s8(const int8_t *in, const int8_t *table, int8_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        *out++ = table[(uint8_t)*in++];
}
