/* Sums of int16 numbers whose scales are those of exports; see compiler/cmcompiler/ops/add.py. */
#ifndef CMRT_SHORT_SUM_H
#define CMRT_SHORT_SUM_H

#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"

/* Left shift of an int16 operand before it is rescaled. */
#define CM_SHORT_SUM_SHIFT 15

/* x * factor + y', where y' is y * multiplier * 2^-16, rounded half up, divided by 2^right, rounded to
   nearest, and times a sign; of that the doubling high product with `output`, divided by 2^last. Halves
   move away from zero where numbers are divided. No sum leaves 31 bits. */
struct cm_short_sum {
    const int16_t *larger, *smaller;
    int32_t larger_step, smaller_step;
    int32_t factor, multiplier, right, sign;
    int32_t output, last;
    int32_t minimum, maximum;
};

/* What an operand of the larger scale, which is halved, is multiplied by; 0 for others. */
static inline int32_t cm_halving(const struct cm_rescale *scale)
{
    if (scale->shift != 0 || (scale->multiplier != 1 << 30 && scale->multiplier != -(1 << 30)))
        return 0;
    return scale->multiplier / (1 << (31 - CM_SHORT_SUM_SHIFT));
}

/* Whether these are numbers of the larger scale and ones of no larger scale. */
static inline int cm_short_sum_of(struct cm_short_sum *to, const struct cm_sum *sum,
                                  const struct cm_rescale *larger, const struct cm_rescale *smaller)
{
    const struct cm_rescale *output = &sum->output;
    const int32_t factor = cm_halving(larger), sign = smaller->multiplier < 0 ? -1 : 1;
    to->factor = factor;
    to->multiplier = sign * smaller->multiplier;
    to->right = -smaller->shift;
    to->sign = sign;
    if (cm_halving(smaller)) {
        /* Halved as well: -y * 2^15, exactly, divided by two. */
        to->multiplier = INT32_MIN;
        to->right = 1;
        to->sign = -sign;
    }
    to->output = output->multiplier;
    to->last = -output->shift;
    to->minimum = sum->minimum;
    to->maximum = sum->maximum;
    return factor != 0 && (factor > 0 || sign > 0) && to->right >= 1 && to->right <= 30 && to->last >= 2 &&
           to->last <= 30;
}

/* The sum of such operands; false if they are none. */
static inline int cm_short_sum(struct cm_short_sum *to, const struct cm_sum *sum, const int16_t *lhs,
                               const int16_t *rhs, int32_t rhs_step)
{
    if (cm_short_sum_of(to, sum, &sum->lhs, &sum->rhs)) {
        to->larger = lhs;
        to->smaller = rhs;
        to->larger_step = 1;
        to->smaller_step = rhs_step;
        return 1;
    }
    to->larger = rhs;
    to->smaller = lhs;
    to->larger_step = rhs_step;
    to->smaller_step = 1;
    return cm_short_sum_of(to, sum, &sum->rhs, &sum->lhs);
}

static inline int32_t cm_short_sum_side(const struct cm_rescale *scale, int32_t x)
{
    int32_t wide = (int32_t)((uint32_t)x << CM_SHORT_SUM_SHIFT);
    if (scale->multiplier < 0)
        return -cm_requantize(wide, -scale->multiplier, scale->shift);
    return cm_requantize(wide, scale->multiplier, scale->shift);
}

/* Of any scales. */
static inline void cm_add_s16_any(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs,
                                  int32_t rhs_step, int16_t *out, int32_t count)
{
    const struct cm_rescale *output = &sum->output;
    for (int32_t i = 0; i < count; ++i) {
        int32_t total =
            cm_wrapping_add(cm_short_sum_side(&sum->lhs, *lhs++), cm_short_sum_side(&sum->rhs, *rhs));
        rhs += rhs_step;
        int32_t scaled = cm_requantize(total, output->multiplier, output->shift);
        *out++ = (int16_t)cm_clamp(scaled, sum->minimum, sum->maximum);
    }
}

#endif
