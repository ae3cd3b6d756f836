#include "extremes.h"

EXTREMES_FUNCTION(cm_isa_maximum_s8, "vmax")
