/* The microkernel of float convolutions and matrix products: sums of products, added one after the other. */
#ifndef CMRT_DOT_H
#define CMRT_DOT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cmrt/microkernel.h"

/* A product's factors: offsets of its element in a row and in a lane. */
struct cm_tap {
    int32_t row, lane;
};

#define CM_DOT_LANES 12

/* out[r][l] = alpha * (0 + row[r][0] * lane[l][0] + row[r][1] * lane[l][1] + …) + beta * addend[r][l]: the
   products of all taps, block after block. Steps and offsets in bytes. Lanes from lane_count on repeat some
   lane before; what they give may be stored or not. */
struct cm_dot {
    const struct cm_tap *taps;
    int32_t tap_count;
    int32_t blocks; /* at least one */
    int32_t row_block, lane_block;
    const uint8_t *row, *lane;
    const uint8_t *addend; /* or NULL */
    uint8_t *out;
    int32_t row_count, row_step;
    int32_t row_lane; /* how far the lanes move from one row to the next */
    int32_t addend_step, out_step;
    float alpha, beta;
    int32_t lane_count;
    int32_t lane_offsets[CM_DOT_LANES], addend_offsets[CM_DOT_LANES], out_offsets[CM_DOT_LANES];
};
CM_MICROKERNEL void cm_isa_dot_f32(const struct cm_dot *dot);

static inline float cm_float_at(const uint8_t *data, int32_t offset)
{
    return *(const float *)(const void *)(data + offset);
}

/* A product with 1 is free where multiplying is a function call. */
static inline float cm_scaled(float x, float factor)
{
#if defined(__arm__) && !defined(__ARM_FP)
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    if (bits == UINT32_C(0x3f800000))
        return x;
#endif
    return x * factor;
}

/* Stores one output, given its sum. */
static inline void cm_dot_store(const struct cm_dot *dot, int32_t row, int32_t lane, float sum)
{
    float result = cm_scaled(sum, dot->alpha);
    if (dot->addend != NULL) {
        int32_t place = row * dot->addend_step + dot->addend_offsets[lane];
        result += cm_scaled(cm_float_at(dot->addend, place), dot->beta);
    }
    *(float *)(void *)(dot->out + row * dot->out_step + dot->out_offsets[lane]) = result;
}

/* Computes one output. */
static inline void cm_dot_one(const struct cm_dot *dot, int32_t row, int32_t lane)
{
    const uint8_t *x = dot->row + row * dot->row_step,
                  *y = dot->lane + row * dot->row_lane + dot->lane_offsets[lane];
    float sum = 0;
    for (int32_t block = 0; block < dot->blocks; ++block) {
        for (int32_t tap = 0; tap < dot->tap_count; ++tap)
            sum += cm_float_at(x, dot->taps[tap].row) * cm_float_at(y, dot->taps[tap].lane);
        x += dot->row_block;
        y += dot->lane_block;
    }
    cm_dot_store(dot, row, lane, sum);
}

#endif
