/* Products with weights of four bits: those of some columns are unpacked into the workspace, then multiplied
   as weights of eight bits. */
#ifndef CMRT_NIBBLES_H
#define CMRT_NIBBLES_H

#include "cmrt/isa.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Before the blocks of weights; see compiler/cmcompiler/ops/support/nibbles.py. Sizes are those of eight
 * bits. */
struct cm_nibbles {
    int32_t columns;                /* at once */
    int32_t block;                  /* columns of a block */
    int32_t before, weights, after; /* bytes of a block */
    int32_t unpacked; /* bytes of workspace before that of the product; 0: they are multiplied as they are */
    int32_t unused[2];
};

static inline bool cm_are_unpacked(const struct cm_gemm *gemm)
{
    return ((const struct cm_nibbles *)gemm->weights)->unpacked != 0;
}

/* Makes so many bytes of half as many. */
typedef void cm_unpack_function(int8_t *out, const uint8_t *in, int32_t bytes);

/* Unpacks blocks; returns where the next ones lie. */
static inline const uint8_t *cm_unpack_blocks(const struct cm_nibbles *sizes, cm_unpack_function *unpack,
                                              int8_t *out, const uint8_t *in, int32_t columns)
{
    const int32_t before = sizes->before, weights = sizes->weights, after = sizes->after;
    for (; columns > 0; columns -= sizes->block) {
        memcpy(out, in, (size_t)before);
        unpack(out + before, in + before, weights);
        out += before + weights;
        in += before + weights / 2;
        memcpy(out, in, (size_t)after);
        out += after;
        in += after;
    }
    return in;
}

static inline void cm_multiply_nibbles(const struct cm_gemm *gemm, cm_unpack_function *unpack,
                                       void (*multiply)(const struct cm_gemm *))
{
    const struct cm_nibbles *const sizes = gemm->weights;
    const uint8_t *in = (const uint8_t *)(sizes + 1);
    struct cm_gemm part = *gemm;
    part.weights = gemm->workspace;
    part.workspace = (int8_t *)gemm->workspace + sizes->unpacked;
    part.columns = sizes->columns;
    for (int32_t left = gemm->columns; left > 0; left -= part.columns) {
        part.columns = left < part.columns ? left : part.columns;
        in = cm_unpack_blocks(sizes, unpack, gemm->workspace, in, part.columns);
        multiply(&part);
        part.out += part.columns;
    }
}

#endif
