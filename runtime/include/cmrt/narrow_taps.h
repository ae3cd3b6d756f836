/* Depthwise weights of four bits; see compiler/cmcompiler/ops/support/narrow_taps.py. */
#ifndef CMRT_NARROW_TAPS_H
#define CMRT_NARROW_TAPS_H

#include "cmrt/isa.h"

#include <stdint.h>

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

/* Makes the weights that kernels read. */
CM_MICROKERNEL void cm_isa_unpack_taps(const struct cm_narrow_taps *taps, uint32_t *out);

#endif
