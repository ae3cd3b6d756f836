/* Sixteen bytes at a time, of operands that move by 0 or 1 from element to element. */
#ifndef BYTES_H
#define BYTES_H

#include <arm_mve.h>

static inline uint8x16_t take_bytes(const uint8_t **bytes, int32_t step, mve_pred16_t valid)
{
    if (step == 0)
        return vdupq_n_u8(**bytes);
    uint8x16_t taken = vldrbq_z_u8(*bytes, valid);
    *bytes += 16;
    return taken;
}

#endif
