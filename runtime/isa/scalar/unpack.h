/* Weights of four bits without SIMD: a byte holds two, each plus 8. */
#ifndef UNPACK_H
#define UNPACK_H

#include <stdint.h>

/* Weights plus 128, as isa/scalar/row_product.h takes them: eight of each word. */
static inline void unpack(int8_t *bytes, const uint8_t *pairs, int32_t count)
{
    const uint32_t half = UINT32_C(0x0f0f0f0f), offset = UINT32_C(0x78787878);
    uint32_t *out = (uint32_t *)(void *)bytes;
    const uint32_t *in = (const uint32_t *)(const void *)pairs;
    for (; count > 0; count -= 8, out += 2) {
        const uint32_t word = *in++;
        out[0] = (word & half) + offset;
        out[1] = (word >> 4 & half) + offset;
    }
}

#endif
