/* 3x3 depthwise convolution: the general one in plain C. */
#include "cmrt/isa.h"

void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_s8(depthwise);
}

void cm_isa_depthwise_3x3_s8_half_up(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_3x3_s8(depthwise);
}

void cm_isa_depthwise_3x3_s8_row(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_3x3_s8(depthwise);
}

void cm_isa_depthwise_3x3_s8_row_half_up(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_3x3_s8_half_up(depthwise);
}

void cm_isa_depthwise_3x3_s8_stride_2(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_3x3_s8(depthwise);
}

void cm_isa_depthwise_3x3_s8_stride_2_half_up(const struct cm_depthwise *depthwise)
{
    cm_isa_depthwise_3x3_s8(depthwise);
}
