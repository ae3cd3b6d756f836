/* 5x5 depthwise convolution: in plain C no different from any other. */
#include "cmrt/isa.h"

void cm_isa_depthwise_5x5_s8(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_s8(depthwise);
}
