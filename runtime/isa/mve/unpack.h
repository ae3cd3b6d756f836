/* Weights of four bits with MVE: a byte holds two signed ones. */
#ifndef UNPACK_H
#define UNPACK_H

#include <arm_mve.h>
#include <stdint.h>

/* The low halves of 16 bytes, then the high ones. */
static inline void unpack(int8_t *out, const uint8_t *pairs, int32_t count)
{
    const int8_t *in = (const int8_t *)pairs;
    for (; count > 0; count -= 32, out += 32, in += 16) {
        const int8x16_t both = vldrbq_s8(in);
        vstrbq_s8(out, vshrq_n_s8(vshlq_n_s8(both, 4), 4));
        vstrbq_s8(out + 16, vshrq_n_s8(both, 4));
    }
}

#endif
