/* Products with weights of four bits: those of some columns are unpacked into the workspace, then multiplied
   as weights of eight bits. */
#ifndef CMRT_NIBBLES_H
#define CMRT_NIBBLES_H

#include "cmrt/isa.h"
#include "cmrt/short_output.h"

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
    int32_t
        factors;   /* bytes of a block between `before` and its weights: of each group, one for each column */
    int32_t group; /* bytes of a block's weights that are of one group */
};

static inline bool cm_are_unpacked(const struct cm_gemm *gemm)
{
    return ((const struct cm_nibbles *)gemm->weights)->unpacked != 0;
}

/* Makes the weights of a block of half as many bytes, and of factors if it has any. */
typedef void cm_unpack_function(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors,
                                const uint8_t *in);

/* Unpacks blocks; returns where the next ones lie. */
static inline const uint8_t *cm_unpack_blocks(const struct cm_nibbles *sizes, cm_unpack_function *unpack,
                                              int8_t *out, const uint8_t *in, int32_t columns)
{
    const int32_t before = sizes->before, weights = sizes->weights, after = sizes->after;
    for (; columns > 0; columns -= sizes->block) {
        memcpy(out, in, (size_t)before);
        in += before;
        unpack(sizes, out + before, in, in + sizes->factors);
        out += before + weights;
        in += sizes->factors + (weights + 7) / 8 * 4;
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

/* The same for int16 rows. A struct cm_short_range lies between the sizes and the blocks, which are columns
   of two bytes each. */
static inline void cm_multiply_short_nibbles(const struct cm_gemm *gemm, cm_unpack_function *unpack,
                                             void (*multiply)(const struct cm_gemm *))
{
    const struct cm_nibbles *const sizes = gemm->weights;
    const struct cm_short_range *const range = (const struct cm_short_range *)(sizes + 1);
    const uint8_t *in = (const uint8_t *)(range + 1);
    struct cm_gemm part = *gemm;
    if (sizes->unpacked == 0) {
        part.weights = range;
        multiply(&part);
        return;
    }
    part.weights = gemm->workspace;
    part.workspace = (int8_t *)gemm->workspace + sizes->unpacked;
    memcpy(gemm->workspace, range, sizeof *range);
    for (int32_t left = gemm->columns / (int32_t)sizeof(int16_t), columns = sizes->columns; left > 0;
         left -= columns) {
        columns = left < columns ? left : columns;
        in = cm_unpack_blocks(sizes, unpack, (int8_t *)gemm->workspace + sizeof *range, in, columns);
        part.columns = columns * (int32_t)sizeof(int16_t);
        multiply(&part);
        part.out += part.columns;
    }
}

/* Weights plus 8: a word of the low halves of four bytes, then one of the high ones. flipped: where results
   differ from weights plus 128. */
static inline void cm_unpack_words(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *in,
                                   uint32_t flipped)
{
    const uint32_t halves = UINT32_C(0x0f0f0f0f), more = UINT32_C(0x78787878);
    uint32_t *to = (uint32_t *)(void *)out;
    const uint32_t *from = (const uint32_t *)(const void *)in;
    int32_t left = sizes->weights;
    for (; left >= 8; left -= 8) {
        const uint32_t both = *from++;
        *to++ = ((both & halves) + more) ^ flipped;
        *to++ = ((both >> 4 & halves) + more) ^ flipped;
    }
    if (left > 0)
        *to = ((*from & halves) + more) ^ flipped;
}

#endif
