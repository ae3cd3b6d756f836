/* Weights of four bits with MVE: a byte holds two signed ones. */
#ifndef UNPACK_H
#define UNPACK_H

#include "cmrt/nibbles.h"

#include <arm_mve.h>
#include <stdint.h>

/* The low halves of 16 bytes, then the high ones. */
static inline void unpack(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                          const uint8_t *pairs)
{
    const int8_t *in = (const int8_t *)pairs;
    (void)factors;
    for (int32_t count = sizes->weights; count > 0; count -= 32, out += 32, in += 16) {
        const int8x16_t both = vldrbq_s8(in);
        vstrbq_s8(out, vshrq_n_s8(vshlq_n_s8(both, 4), 4));
        vstrbq_s8(out + 16, vshrq_n_s8(both, 4));
    }
}

/* The same times the factors of two columns, of each group of depths. */
static inline void unpack_groups(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                                 const uint8_t *pairs)
{
    const int8_t *in = (const int8_t *)pairs;
    const int32_t columns = sizes->block, step = 16 * columns;
    for (int32_t left = sizes->weights; left > 0; left -= sizes->group) {
        const int32_t bytes = left < sizes->group ? left : sizes->group;
        for (int32_t column = 0; column < columns; column += 2) {
            const int8_t low = (int8_t)*factors++, high = (int8_t)*factors++;
            for (int32_t at = 16 * column; at < bytes; at += step) {
                const int8x16_t both = vldrbq_s8(in + at / 2);
                vstrbq_s8(out + at, vmulq_n_s8(vshrq_n_s8(vshlq_n_s8(both, 4), 4), low));
                vstrbq_s8(out + at + 16, vmulq_n_s8(vshrq_n_s8(both, 4), high));
            }
        }
        out += bytes;
        in += bytes / 2;
    }
}

#endif
