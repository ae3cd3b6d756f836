/* Depthwise weights of four bits made bytes with MVE, for two channels at a time. */
#include "cmrt/narrow_taps.h"

#include <arm_mve.h>
#include <string.h>

enum { LANES = 2, WORDS = 4 /* of a vector */, RAISED = 8 };

void cm_isa_unpack_taps(const struct cm_narrow_taps *taps, uint32_t *out)
{
    const int32_t stride = taps->stride, count = taps->count, head = taps->head - taps->taps;
    const uint32_t *in = (const uint32_t *)(taps + 1);
    memcpy(out, in, (size_t)taps->start * sizeof *in);
    out += taps->start + taps->taps;
    in += taps->start;
    for (int32_t left = taps->blocks; left > 0; --left, out += LANES * stride) {
        const struct cm_tap_head *const heads = (const struct cm_tap_head *)(const void *)in;
        *(struct cm_tap_head *)(void *)(out + head) = heads[0];
        *(struct cm_tap_head *)(void *)(out + head + stride) = heads[1];
        in = (const uint32_t *)(const void *)(heads + LANES);
        uint32_t *to = out;
        int32_t words = count;
        for (; words >= WORDS; words -= WORDS, in += WORDS, to += WORDS) {
            const uint8x16_t both = vreinterpretq_u8_u32(vldrwq_u32(in));
            const uint8x16_t low = vandq_u8(both, vdupq_n_u8(0x0f)), high = vshrq_n_u8(both, 4);
            vstrwq_u32(to, vreinterpretq_u32_u8(vsubq_n_u8(low, RAISED)));
            vstrwq_u32(to + stride, vreinterpretq_u32_u8(vsubq_n_u8(high, RAISED)));
        }
        for (; words > 0; --words, ++in, ++to) {
            to[0] = cm_taps_of_bytes(*in);
            to[stride] = cm_taps_of_bytes(*in >> 4);
        }
    }
}
