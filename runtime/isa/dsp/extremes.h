/* The smaller or the larger of int8 elements: four at a time. */
#ifndef EXTREMES_H
#define EXTREMES_H

#include "cmrt/elementwise.h"
#include "fours.h"

/* The chosen ones of each four bytes of two words. */
typedef uint32_t choice(uint32_t a, uint32_t b);

static inline __attribute__((always_inline)) void choose(choice *chosen, const int8_t *lhs, const int8_t *rhs,
                                                         int32_t rhs_step, int8_t *out, int32_t count)
{
    const int8_t *const end = out + count, *const last = out + (count & -FOUR);
    int8_t same[FOUR];
    rhs = in_fours(rhs, rhs_step, same);
    for (; out < last; out += FOUR, lhs += FOUR, rhs += FOUR * rhs_step) {
        const uint32_t bytes = chosen(load_bytes(lhs), load_bytes(rhs));
        memcpy(out, &bytes, FOUR);
    }
    for (; out < end; rhs += rhs_step)
        *out++ = (int8_t)chosen((uint8_t)*lhs++, (uint8_t)*rhs);
}

#endif
