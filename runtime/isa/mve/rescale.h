/* CMSIS-NN's rescaling of four numbers at a time. */
#ifndef RESCALE_H
#define RESCALE_H

#include <arm_mve.h>

struct rescale {
    int32_t multiplier, left, right;
};

/* To the left by `further` bits more, which wraps, before numbers are multiplied. */
static inline struct rescale rescale_of(int32_t multiplier, int32_t shift, int32_t further)
{
    int32_t left = shift > 0 ? shift : 0;
    return (struct rescale){multiplier, left + further, shift - left};
}

/* A rounding shift moves halves up; negative numbers are one less before it, so that halves move away from
   zero. */
static inline int32x4_t rescaled(const struct rescale *by, int32x4_t x)
{
    x = vqrdmulhq_n_s32(vshlq_r_s32(x, by->left), by->multiplier);
    return vrshlq_n_s32(vqdmlahq_n_s32(x, x, by->right < 0), by->right);
}

#endif
