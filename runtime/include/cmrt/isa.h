/* Microkernels: the inner loops. The library contains the best version of each that the core can run; the
   Microkernel of an op in compiler/cmcompiler/ops lists the versions, and the host packs
   weights for them. */
#ifndef CMRT_ISA_H
#define CMRT_ISA_H

#include "cmrt/arithmetic.h"
#include "cmrt/microkernel.h"

#include <stdbool.h>
#include <stdint.h>

/* Shortcuts that the rescaling of accumulators allows; all give the same bits. */
enum cm_rounding {
    CM_ROUND_GENERAL, /* any shifts */
    CM_ROUND_RIGHT, /* shifts of 1 to 20 to the right, multipliers from 2^30, sums below 2^29, int8 zero point
                     */
    CM_ROUND_HALF_UP, /* as above, and all negative results are clamped to the minimum */
};

/* From 32-bit accumulators to int8. The zero point may lie outside int8, within 16 bits. */
struct cm_output {
    int32_t zero_point, minimum, maximum;
    int32_t rounding;
};

/* In plain C. Clamps the scaled sum first, because with the zero point it may exceed 32 bits. */
static inline int8_t cm_output_s8(const struct cm_output *output, int32_t sum, int32_t multiplier,
                                  int32_t shift)
{
    int32_t scaled = output->rounding == CM_ROUND_GENERAL ? cm_requantize(sum, multiplier, shift)
                                                          : cm_scale_right(sum, multiplier, shift);
    int32_t low = output->minimum - output->zero_point, high = output->maximum - output->zero_point;
    return (int8_t)(cm_clamp(scaled, low, high) + output->zero_point);
}

/* out[r][c] = output(bias[c] + sum over k < depth of lhs[r][k] * weights[c][k]) for r < rows, c < columns.
   Strides in bytes. The input offset is folded into the bias. Up to 15 bytes after the end of a row of lhs
   may be read; their values do not matter. */
struct cm_gemm {
    const int8_t *lhs;
    int32_t lhs_stride, rows;
    const void *weights; /* packing.py: gemm_weights */
    int32_t depth, columns;
    int8_t *out;
    int32_t out_stride;
    void *workspace; /* packing.py: gemm_workspace */
    struct cm_output output;
};
CM_MICROKERNEL void cm_isa_gemm_s8(const struct cm_gemm *gemm);

/* Rows of several parts, each a column of a kernel whose first or last rows lie in the padding: `lhs` lacks
   the bytes of these. */
struct cm_cut_gemm {
    struct cm_gemm product; /* its depth is that of the weights */
    int32_t part;           /* depths of each */
    int32_t first, left;    /* those that lhs has: all up to `first`, or all from there on, are missing */
    int8_t padding;         /* in their place */
};
CM_MICROKERNEL void cm_isa_gemm_s8_cut(const struct cm_cut_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w4_cut(const struct cm_cut_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s16_cut(const struct cm_cut_gemm *gemm); /* sizes in bytes, padding 0 */

/* Whether these take rows of so many parts, each with so many bytes in lhs: cut_windows.py. */
static inline bool cm_cut_suits(int32_t parts, int32_t left)
{
    enum { CHUNK = 16, MOST_CHUNKS = 32 };
    return left % (2 * CHUNK) == 0 && left > 0 && parts > 1 && parts * left <= MOST_CHUNKS * CHUNK;
}

/* The same with weights of int16 for the DSP extension, made with `wide` by packing.py: gemm_weights. */
CM_MICROKERNEL void cm_isa_gemm_s8_w16(const struct cm_gemm *gemm);

/* The same for weights whose pairs do not suit the DSP extension, as filters.py: suits_pairs says. */
CM_MICROKERNEL void cm_isa_gemm_s8_apart(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_apart_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_g4_apart(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_g4_apart_general(const struct cm_gemm *gemm);

/* The same with weights of four bits, made of narrowed filters. */
CM_MICROKERNEL void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_w4(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_w4_general(const struct cm_gemm *gemm);

/* The same with weights of four bits times a factor for each group of depths: filters that have groups. */
CM_MICROKERNEL void cm_isa_gemm_s8_g4(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_g4_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_g4_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_g4(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_g4_general(const struct cm_gemm *gemm);

/* The same for one row; weights by packing.py: gemv_weights. */
CM_MICROKERNEL void cm_isa_gemv_s8(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_w16(const struct cm_gemm *gemm);

/* The same for a long row and few columns, with the workspace of long_rows.py. */
CM_MICROKERNEL void cm_isa_gemv_s8_long(const struct cm_gemm *gemm);

/* The same for outputs whose rescaling allows no shortcuts, as filters.py: is_general says. They are rare, so
   images link the code for them only if their plans name it. */
CM_MICROKERNEL void cm_isa_gemm_s8_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w16_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_long_general(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemv_s8_w16_general(const struct cm_gemm *gemm);

/* The same for outputs of CM_ROUND_HALF_UP only, so that images link loops for one rounding if all layers
 * agree. */
CM_MICROKERNEL void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm);

/* The same for depths of a range, so that images link the loops of those that their layers have; for Helium,
   by the choice of helium_products.py. shallow: up to CM_SHALLOW_DEPTH; deep: more; dense: rows side by side,
   of 8, 16 or 32 depths, 8 and 32 only half_up, or of as many as the name says. */
enum { CM_SHALLOW_DEPTH = 32 };
CM_MICROKERNEL void cm_isa_gemm_s8_shallow(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_shallow_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_shallow_dense(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_shallow_dense_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_deep(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_deep_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_dense_64_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_dense_128_half_up(const struct cm_gemm *gemm);
/* With weights of four bits that need not be unpacked: of 49 to 64 and of 113 to 128 depths. */
CM_MICROKERNEL void cm_isa_gemm_s8_w4_64(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w4_64_half_up(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w4_128(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s8_w4_128_half_up(const struct cm_gemm *gemm);

/* The same for rows and outputs of int16, with depth and columns in bytes, and weights by packing16.py; those
   hold all that makes outputs of sums. long: for sums and scales of any size; w4: with weights of four bits.
 */
CM_MICROKERNEL void cm_isa_gemm_s16(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s16_long(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s16_w4(const struct cm_gemm *gemm);
CM_MICROKERNEL void cm_isa_gemm_s16_long_w4(const struct cm_gemm *gemm);

/* Numbers within bounds, in place. */
CM_MICROKERNEL void cm_isa_clamp_s8(int8_t *x, int32_t count, int32_t minimum, int32_t maximum);

/* Packs depths [at, at + bytes) of four rows into the workspace, multiples of four from 0 on, one part after
   the other: then they are the rows of the product. For outputs that are not general. */
enum { CM_PACKED_ROWS = 4 };
CM_MICROKERNEL void cm_isa_pack_rows_s8(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                                        int32_t bytes);
CM_MICROKERNEL void cm_isa_pack_rows_s8_w16(struct cm_gemm *gemm, int32_t at, const int8_t *in,
                                            int32_t stride, int32_t bytes);

/* The product for windows, a multiple of four, `stride` bytes apart, of three rows of `bytes` bytes, one more
   than a multiple of four: the depths are the rows less their last bytes, then these. Goes on to the next
   windows. */
enum { CM_WINDOW_ROWS = 3 };
struct cm_odd_rows {
    const int8_t *rows[CM_WINDOW_ROWS];
    int32_t stride, bytes;
};
CM_MICROKERNEL void cm_isa_gemm_s8_odd(const struct cm_gemm *gemm, struct cm_odd_rows *windows);
CM_MICROKERNEL void cm_isa_gemm_s8_odd_apart(const struct cm_gemm *gemm, struct cm_odd_rows *windows);
CM_MICROKERNEL void cm_isa_gemm_s8_odd_w16(const struct cm_gemm *gemm, struct cm_odd_rows *windows);

/* The same for two rows of int16, `depth` bytes of them from byte `at` on: `bytes` at a time, which lie
   `row_stride` apart. */
enum { CM_PACKED_SHORT_ROWS = 2 };
CM_MICROKERNEL void cm_isa_pack_rows_s16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                                         int32_t bytes, int32_t row_stride, int32_t depth);

/* out[r][c] = output(sum over k < depth of (lhs[r][k] + lhs_offset) * (rhs[c][k] + rhs_offset)), modulo 2^32
   before the output; all matrices without gaps. */
struct cm_matmul {
    const int8_t *lhs, *rhs;
    int8_t *out;
    void *workspace; /* with the DSP extension a row in 16 bits, elsewhere a word for each column */
    int32_t batch;   /* products; the matrices of each kind follow each other */
    int32_t rows, columns, depth;
    int32_t lhs_offset, rhs_offset;
    int32_t multiplier, shift;
    struct cm_output output;
};
CM_MICROKERNEL void cm_isa_matmul_s8(const struct cm_matmul *matmul);

/* Copies `count` blocks of `bytes` bytes; strides in bytes. Nothing outside the blocks is written; up to 15
   bytes after an input block are read. */
CM_MICROKERNEL void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in,
                                          int32_t in_stride, int32_t bytes, int32_t count);

/* Copies `count` pixels of `bytes` bytes that follow each other to places that are `stride` bytes apart.
   Nothing else is written; up to 15 bytes after the last pixel are read. */
CM_MICROKERNEL void cm_isa_copy_pixels_s8(int8_t *out, int32_t stride, const int8_t *in, int32_t bytes,
                                          int32_t count);

/* Windows side by side over rows of a ring. A window is some bytes of each row; of the first windows, and
   from `end` on, what lies outside of a row is left out. */
struct cm_windows {
    int8_t *out;
    int32_t out_stride, out_step; /* from one window to the next, and from one row of it to the next */
    const int8_t *in;             /* the first row */
    const int8_t *ring_end;
    int32_t in_stride, in_step;
    int32_t ring_bytes, row_bytes;
    int32_t left; /* of the first window, in bytes from the start of the row */
    int32_t bytes, rows;
    int32_t first, end, count; /* windows inside, and all */
};
CM_MICROKERNEL void cm_isa_copy_windows_s8(const struct cm_windows *windows);

/* Depthwise convolution of a band of output rows, each at its own address. divided: for weights whose shifts
   depthwise_schemes.py packs as multipliers. */
#define CM_NO_ROW INT32_MIN
struct cm_depthwise {
    const int8_t *input;
    const int32_t *input_rows; /* offsets from `input`; CM_NO_ROW for rows of the input's zero point */
    int8_t *out;
    const int32_t *out_rows; /* offsets from `out` */
    int32_t band;            /* output rows; row r starts at input_rows[r * stride_height] */
    int32_t input_width, out_width, channels;
    int32_t input_channels; /* `channels` is a multiple of it in cm_isa_depthwise_shared_s8 */
    int32_t kernel_height, kernel_width, stride_height, stride_width;
    int32_t dilation_height, dilation_width, pad_left;
    int32_t chunk;       /* output columns that the workspace allows at once */
    const void *weights; /* as depthwise_schemes.py packs them */
    void *workspace;     /* of the size that depthwise_schemes.py says */
    int32_t input_zero_point;
    struct cm_output output;
};
CM_MICROKERNEL void cm_isa_depthwise_s8(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_s8_divided(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_narrow_s8(const struct cm_depthwise *depthwise); /* weights of -8 to 7 */

/* The same of one tap without padding: (x * factor + offset) >> CM_AFFINE_SHIFT of each channel, clamped. */
enum { CM_AFFINE_SHIFT = 21 };
CM_MICROKERNEL void cm_isa_depthwise_affine_s8(const struct cm_depthwise *depthwise);

/* The same with several filters for each channel. */
CM_MICROKERNEL void cm_isa_depthwise_shared_s8(const struct cm_depthwise *depthwise);

/* The same of some channels alone, whose outputs other loops cannot round. */
CM_MICROKERNEL void cm_isa_depthwise_channels_s8(const struct cm_depthwise *depthwise);

/* Convolution in groups of some channels, a multiple of four, without dilation of columns. Needs space for a
   strip of each group; saturates to int8. half_up: for outputs of CM_ROUND_HALF_UP only. */
CM_MICROKERNEL void cm_isa_grouped_s8(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_grouped_s8_half_up(const struct cm_depthwise *depthwise);

/* The same for kernels of one size without dilation, of stride_width 1 or 2; depthwise_schemes.py says
   in which bands and chunks, and packs the weights. */
CM_MICROKERNEL void cm_isa_depthwise_5x5_s8(const struct cm_depthwise *depthwise);

/* The same for kernels of one row, with a band of one row, or for images of one column; saturates to int8.
   chunk: outputs that the workspace allows at once. half_up: for outputs of CM_ROUND_HALF_UP only. */
CM_MICROKERNEL void cm_isa_depthwise_long_s8(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_long_s8_half_up(const struct cm_depthwise *depthwise);

/* For one stride_width, 1 unless named; row: for rows that are computed one at a time; half_up: for outputs
   of CM_ROUND_HALF_UP only. */
CM_MICROKERNEL void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s8_half_up(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s8_row(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s8_row_half_up(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s8_stride_2(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s8_stride_2_half_up(const struct cm_depthwise *depthwise);

/* The same for int16 images, whose channels are bytes, and sums of 32 bits; weights by packing16.py, after a
   struct cm_short_range. rectified: for outputs from 0. */
CM_MICROKERNEL void cm_isa_depthwise_3x3_s16(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s16_rectified(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s16_stride_2(const struct cm_depthwise *depthwise);
CM_MICROKERNEL void cm_isa_depthwise_3x3_s16_stride_2_rectified(const struct cm_depthwise *depthwise);

#endif
