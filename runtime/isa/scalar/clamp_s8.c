#include "cmrt/arithmetic.h"
#include "cmrt/isa.h"

void cm_isa_clamp_s8(int8_t *x, int32_t count, int32_t minimum, int32_t maximum)
{
    for (int8_t *end = x + count; x < end; ++x)
        *x = (int8_t)cm_clamp(*x, minimum, maximum);
}
