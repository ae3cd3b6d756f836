/* Strided copy of byte blocks. */
#include "cmrt/isa.h"

#include <string.h>

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        memcpy(out + i * out_stride, in + i * in_stride, (size_t)bytes);
}
