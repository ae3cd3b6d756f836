#include "extremes.h"

EXTREMES_FUNCTION(cm_isa_minimum_s8, "vmin")
