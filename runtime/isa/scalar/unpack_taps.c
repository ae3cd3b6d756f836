/* Depthwise weights of four bits made bytes or halfwords: a word at a time. */
#include "cmrt/narrow_taps.h"

#include <string.h>

/* As cm_taps_of_bytes. */
static uint32_t taps_of_halfwords(uint32_t lanes)
{
    return ((lanes & 0x000f000f) + 0x7ff87ff8) ^ 0x80008000;
}

/* Where the words of the next block lie. */
static inline __attribute__((always_inline)) const uint32_t *
unpack_block(const struct cm_narrow_taps *taps, uint32_t *out, const uint32_t *in, int32_t lanes)
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
        *place = taps_of_halfwords(all);
        place += stride;
        *place = taps_of_halfwords(all >> 4);
        place += stride;
        *place = taps_of_halfwords(all >> 8);
        place[stride] = taps_of_halfwords(all >> 12);
    }
    return in;
}

void cm_isa_unpack_taps(const struct cm_narrow_taps *taps, uint32_t *out)
{
    const uint32_t *in = (const uint32_t *)(taps + 1);
    memcpy(out, in, (size_t)taps->start * sizeof *in);
    out += taps->start;
    in += taps->start;
    for (int32_t left = taps->blocks; left > 0; --left) {
        const int32_t lanes = taps->wide != 0 ? 4 : 2;
        in = lanes == 4 ? unpack_block(taps, out, in, 4) : unpack_block(taps, out, in, 2);
        out += lanes * taps->stride;
    }
}
