/* A pixel of a depthwise convolution of int16 images, channel by channel. */
#include "cmrt/short_pixel.h"

void cm_isa_depthwise_s16(const struct cm_short_pixel *pixel)
{
    cm_short_channels(pixel, 0);
}
