/* Arguments of sums by one multiplication per operand, as their microkernel takes them. */
#ifndef CMRT_AFFINE_H
#define CMRT_AFFINE_H

#include "cmrt/args/add_affine_s8.h"
#include "cmrt/elementwise.h"

static inline struct cm_affine cm_affine_of(const struct cm_add_affine_s8 *op)
{
    return (struct cm_affine){
        .lhs_factor = op->lhs_factor,
        .rhs_factor = op->rhs_factor,
        .offset = op->offset,
        .shift = op->shift,
        .minimum = op->minimum,
        .maximum = op->maximum,
    };
}

#endif
