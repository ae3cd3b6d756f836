/* Depthwise convolution with kernels of one row or column: the general one in plain C. */
#include "cmrt/isa.h"

void cm_isa_depthwise_long_s8(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_s8(depthwise);
}

void cm_isa_depthwise_long_s8_half_up(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_long_s8(depthwise);
}
