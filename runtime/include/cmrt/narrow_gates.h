/* Gates of recurrent layers with weights of four bits. */
#ifndef CMRT_NARROW_GATES_H
#define CMRT_NARROW_GATES_H

#include "cmrt/gates.h"
#include "cmrt/nibbles.h"

/* Gates of one row. */
static inline void cm_add_nibbles_to_gates(const struct cm_gate_weights *weights, const int8_t *row,
                                           int16_t *gates, void *workspace, cm_unpack_function *unpack)
{
    const struct cm_nibbles *const sizes = weights->packed;
    const uint8_t *in = (const uint8_t *)(sizes + 1);
    struct cm_gate_weights part = *weights;
    part.packed = in;
    if (sizes->unpacked == 0) {
        cm_isa_gemv_s16(&part, row, gates, workspace);
        return;
    }
    part.packed = workspace;
    for (int32_t left = weights->gates; left > 0; left -= part.gates, gates += part.gates) {
        part.gates = left < sizes->columns ? left : sizes->columns;
        in = cm_unpack_blocks(sizes, unpack, workspace, in, part.gates);
        cm_isa_gemv_s16(&part, row, gates, (int8_t *)workspace + sizes->unpacked);
    }
}

#endif
