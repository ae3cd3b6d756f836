#include "cmrt/elementwise.h"

void cm_isa_repeat_bytes(int8_t *out, const int8_t *in, int32_t times, int32_t count)
{
    for (; count > 0; --count) {
        int8_t byte = *in++;
        for (int32_t i = 0; i < times; ++i)
            *out++ = byte;
    }
}
