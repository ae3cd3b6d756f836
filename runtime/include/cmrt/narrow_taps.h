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

/* One lane of a word; all are raised by 8. */
static inline uint32_t cm_taps_of_bytes(uint32_t lanes)
{
    return ((lanes & 0x0f0f0f0f) + 0x78787878) ^ 0x80808080;
}

static inline uint32_t cm_taps_of_halfwords(uint32_t lanes)
{
    return ((lanes & 0x000f000f) + 0x7ff87ff8) ^ 0x80008000;
}

/* Where the words of the next block lie. */
static inline __attribute__((always_inline)) const uint32_t *
cm_unpack_block(const struct cm_narrow_taps *taps, uint32_t *out, const uint32_t *in, int32_t lanes)
{
    const int32_t stride = taps->stride;
    uint32_t *to = out + taps->head;
    for (int32_t lane = 0; lane < lanes; ++lane, to += stride, in += 3)
        *(struct cm_tap_head *)(void *)to = *(const struct cm_tap_head *)(const void *)in;
    to = out + taps->taps;
    for (int32_t left = taps->count; left > 0; --left) {
        const uint32_t all = *in++;
        uint32_t *place = to++;
        if (lanes == 2) {
            place[0] = cm_taps_of_bytes(all);
            place[stride] = cm_taps_of_bytes(all >> 4);
            continue;
        }
        *place = cm_taps_of_halfwords(all);
        place += stride;
        *place = cm_taps_of_halfwords(all >> 4);
        place += stride;
        *place = cm_taps_of_halfwords(all >> 8);
        place[stride] = cm_taps_of_halfwords(all >> 12);
    }
    return in;
}

/* Makes the weights that kernels read. */
static inline void cm_unpack_taps(const struct cm_narrow_taps *taps, uint32_t *out)
{
    const uint32_t *in = (const uint32_t *)(taps + 1);
    memcpy(out, in, (size_t)taps->start * sizeof *in);
    out += taps->start;
    in += taps->start;
    for (int32_t left = taps->blocks; left > 0; --left) {
        const int32_t lanes = taps->wide != 0 ? 4 : 2;
        in = lanes == 4 ? cm_unpack_block(taps, out, in, 4) : cm_unpack_block(taps, out, in, 2);
        out += lanes * taps->stride;
    }
}

#endif
