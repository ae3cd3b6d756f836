/* int8 elements of two operands, four at a time. */
#ifndef FOURS_H
#define FOURS_H

#include "simd.h"

enum { FOUR = 4 };

/* An operand, or, if that is one number for all elements, four of it in `same`. */
static inline const int8_t *in_fours(const int8_t *operand, int32_t step, int8_t *same)
{
    if (step != 0)
        return operand;
    memset(same, *operand, FOUR);
    return same;
}

#endif
