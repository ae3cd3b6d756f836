/* Depthwise convolution with several filters for each channel with MVE. */
#include "byte_taps.h"

FILTERS_FUNCTION(cm_mve_depthwise_shared);

void cm_isa_depthwise_shared_s8(const struct cm_depthwise *d)
{
    convolve_gathered(d, d->weights, cm_mve_depthwise_shared);
}
