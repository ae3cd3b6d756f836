/* Sums of products in plain C: tiles of outputs, which a floating-point unit keeps in registers. */
#include "cmrt/dot.h"

#define SIDE 4

/* Software arithmetic has no use for tiles. */
#if defined(__arm__) && !defined(__ARM_FP)
#define TILES 0
#else
#define TILES 1
#endif

static __attribute__((noinline)) void store(const struct cm_dot *dot, int32_t row, int32_t lane, int32_t rows,
                                            const float *sums)
{
    const int32_t *outs = dot->out_offsets + lane, *addends = dot->addend_offsets + lane;
    const int32_t lanes = dot->lane_count - lane < SIDE ? dot->lane_count - lane : SIDE;
    const float alpha = dot->alpha, beta = dot->beta;
    uint8_t *out = dot->out + row * dot->out_step;
    const uint8_t *addend = dot->addend == NULL ? NULL : dot->addend + row * dot->addend_step;
    for (int32_t i = 0; i < rows; ++i, sums += SIDE) {
        for (int32_t j = 0; j < lanes; ++j) {
            float result = sums[j] * alpha;
            if (addend != NULL)
                result += cm_float_at(addend, addends[j]) * beta;
            *(float *)(void *)(out + outs[j]) = result;
        }
        out += dot->out_step;
        if (addend != NULL)
            addend += dot->addend_step;
    }
}

/* `rows` rows by SIDE lanes. */
static inline __attribute__((always_inline)) void tile(const struct cm_dot *dot, int32_t row, int32_t lane,
                                                       int32_t rows)
{
    const uint8_t *x[SIDE], *y[SIDE];
    float sums[SIDE][SIDE], results[SIDE * SIDE];
#pragma GCC unroll 4
    for (int32_t i = 0; i < SIDE; ++i) {
        x[i] = dot->row + (row + (i < rows ? i : 0)) * dot->row_step;
        y[i] = dot->lane + row * dot->row_lane + dot->lane_offsets[lane + i];
#pragma GCC unroll 4
        for (int32_t j = 0; j < SIDE; ++j)
            sums[i][j] = 0;
    }
    for (int32_t block = 0; block < dot->blocks; ++block) {
        const struct cm_tap *tap = dot->taps, *end = tap + dot->tap_count;
        for (; tap < end; ++tap) {
            float factors[SIDE];
#pragma GCC unroll 4
            for (int32_t j = 0; j < SIDE; ++j)
                factors[j] = cm_float_at(y[j], tap->lane);
#pragma GCC unroll 4
            for (int32_t i = 0; i < rows; ++i) {
                float factor = cm_float_at(x[i], tap->row);
#pragma GCC unroll 4
                for (int32_t j = 0; j < SIDE; ++j)
                    sums[i][j] += factor * factors[j];
            }
        }
#pragma GCC unroll 4
        for (int32_t i = 0; i < SIDE; ++i) {
            x[i] += dot->row_block;
            y[i] += dot->lane_block;
        }
    }
#pragma GCC unroll 4
    for (int32_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
        for (int32_t j = 0; j < SIDE; ++j)
            results[i * SIDE + j] = sums[i][j];
    store(dot, row, lane, rows, results);
}

void cm_isa_dot_f32(const struct cm_dot *dot)
{
    for (int32_t lane = 0; lane < dot->lane_count; lane += TILES ? SIDE : 1) {
        int32_t row = 0;
        for (; TILES && dot->row_lane == 0 && row + SIDE <= dot->row_count; row += SIDE)
            tile(dot, row, lane, SIDE);
        for (; row < dot->row_count; ++row)
            if (TILES)
                tile(dot, row, lane, 1);
            else
                cm_dot_one(dot, row, lane);
    }
}
