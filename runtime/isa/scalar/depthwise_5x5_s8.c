/* 5x5 depthwise convolution: the general one in plain C. */
#include "cmrt/isa.h"

void cm_isa_depthwise_5x5_s8(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_s8(depthwise);
}
