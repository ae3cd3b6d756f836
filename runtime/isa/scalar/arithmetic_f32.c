#include "cmrt/elementwise_f32.h"

void cm_isa_arithmetic_f32(enum cm_arithmetic function, struct cm_floats floats, int32_t count)
{
    cm_arithmetic_loop(function, floats, count);
}
