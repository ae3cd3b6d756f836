/* Strided copy of byte blocks. */
#include "cmrt/isa.h"
#include "copy_blocks.h"

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    if (count > 0 && bytes > 0)
        copy_blocks(out, out_stride, in, in_stride, bytes, count);
}
