/* The loops around an inner loop, over up to four strided operands. */
#ifndef CMRT_NEST_H
#define CMRT_NEST_H

#include "cmrt/program.h"

#include <stdbool.h>

#define CM_NEST_LEVELS 8
#define CM_NEST_OPERANDS 4

/* One loop: its iterations, and each operand's step in bytes. */
struct cm_level {
    int32_t count;
    int32_t step[CM_NEST_OPERANDS];
};

/* State of the loops, outermost first, and each operand's offset. */
struct cm_nest {
    const struct cm_level *levels;
    int32_t depth;
    int32_t turn[CM_NEST_LEVELS];
    int32_t offset[CM_NEST_OPERANDS];
};

static inline void cm_nest_start(struct cm_nest *nest, const struct cm_context *context, cm_ref levels,
                                 int32_t depth)
{
    nest->levels = (const struct cm_level *)cm_read(context, levels);
    nest->depth = depth;
    for (int32_t i = 0; i < depth; ++i)
        nest->turn[i] = 0;
    for (int32_t operand = 0; operand < CM_NEST_OPERANDS; ++operand)
        nest->offset[operand] = 0;
}

static inline void cm_nest_move(struct cm_nest *nest, const struct cm_level *level, int32_t turns)
{
    nest->offset[0] += turns * level->step[0];
    nest->offset[1] += turns * level->step[1];
    nest->offset[2] += turns * level->step[2];
    nest->offset[3] += turns * level->step[3];
}

/* Moves to the next iteration; false after the last. */
static inline bool cm_nest_next(struct cm_nest *nest)
{
    for (int32_t i = nest->depth - 1; i >= 0; --i) {
        const struct cm_level *level = &nest->levels[i];
        if (++nest->turn[i] < level->count) {
            cm_nest_move(nest, level, 1);
            return true;
        }
        cm_nest_move(nest, level, 1 - level->count);
        nest->turn[i] = 0;
    }
    return false;
}

/* An operand's place, of int16 elements. */
static inline const int16_t *cm_nest_short(const struct cm_nest *nest, int32_t operand, const void *base)
{
    return (const int16_t *)(const void *)((const int8_t *)base + nest->offset[operand]);
}

static inline int16_t *cm_nest_short_output(const struct cm_nest *nest, int32_t operand, void *base)
{
    return (int16_t *)(void *)((int8_t *)base + nest->offset[operand]);
}

#endif
