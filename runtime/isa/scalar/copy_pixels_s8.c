/* Copy of pixels to places apart. */
#include "cmrt/isa.h"

#include <string.h>

void cm_isa_copy_pixels_s8(int8_t *out, int32_t stride, const int8_t *in, int32_t bytes, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        memcpy(out + i * stride, in + i * bytes, (size_t)bytes);
}
