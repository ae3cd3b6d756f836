/* Outputs that shortcuts of MVE's kernels cannot make. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "cmrt/isa.h"

/* Whether there may be shifts to the left, or a clamp that saturation to int8 does not make. */
static inline int is_general(const struct cm_output *output)
{
    return output->minimum != INT8_MIN || output->maximum != INT8_MAX || output->rounding == CM_ROUND_GENERAL;
}

#endif
