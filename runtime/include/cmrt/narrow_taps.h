/* Depthwise weights of four bits; see compiler/cmcompiler/ops/support/narrow_taps.py. */
#ifndef CMRT_NARROW_TAPS_H
#define CMRT_NARROW_TAPS_H

#include <stdint.h>
#include <string.h>

/* Before the words of blocks of channels: the other words of each, then those that their weights share. */
struct cm_narrow_taps {
    int32_t start;         /* words before those of channels */
    int32_t blocks;        /* of channels */
    int32_t taps, head;    /* where a channel's weights and its other three words begin */
    int32_t count, stride; /* words of its weights, and all of them */
    int32_t unpacked;      /* bytes */
    int32_t wide;          /* weights are 16 bits wide, else 8 */
};

struct cm_tap_head {
    uint32_t words[3];
};

/* A word holds one of each of so many channels; all are raised by 8. */
static inline void cm_unpack_lanes(const struct cm_narrow_taps *taps, uint32_t *out, const uint32_t *in,
                                   int32_t lanes, uint32_t mask, uint32_t more, uint32_t flipped)
{
    const int32_t stride = taps->stride;
    for (int32_t block = taps->blocks; block > 0; --block) {
        uint32_t *to = out + taps->head;
        for (int32_t lane = 0; lane < lanes; ++lane, to += stride, in += 3)
            *(struct cm_tap_head *)(void *)to = *(const struct cm_tap_head *)(const void *)in;
        to = out + taps->taps;
        for (int32_t left = taps->count; left > 0; --left, ++to) {
            const uint32_t all = *in++;
            for (int32_t lane = 0; lane < lanes; ++lane)
                to[lane * stride] = ((all >> 4 * lane & mask) + more) ^ flipped;
        }
        out += lanes * stride;
    }
}

/* Makes the weights that kernels read. */
static inline void cm_unpack_taps(const struct cm_narrow_taps *taps, uint32_t *out)
{
    const uint32_t *in = (const uint32_t *)(taps + 1);
    memcpy(out, in, (size_t)taps->start * sizeof *in);
    out += taps->start;
    in += taps->start;
    if (taps->wide != 0)
        cm_unpack_lanes(taps, out, in, 4, 0x000f000f, 0x7ff87ff8, 0x80008000);
    else
        cm_unpack_lanes(taps, out, in, 2, 0x0f0f0f0f, 0x78787878, 0x80808080);
}

#endif
