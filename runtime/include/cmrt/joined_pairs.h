/* Elementwise ops on two int8 operands whose innermost loop is short, as a channel's bias or a column times a
   row: several of its runs at once, with a repeated operand written out. */
#ifndef CMRT_JOINED_PAIRS_H
#define CMRT_JOINED_PAIRS_H

#include "cmrt/args/pair_operands.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

#include <stdbool.h>
#include <string.h>

/* Elements that are written out at once, of both operands: several of the longest runs that the host joins,
   as elementwise.py says. */
enum { CM_JOINED_ELEMENTS = 1024 };

#define CM_PAIR_OPERANDS(op)                                                                                 \
    {(op)->lhs, (op)->rhs, (op)->output, (op)->levels, (op)->depth, (op)->count, (op)->rhs_step}

typedef void cm_pair_microkernel(const void *parameters, const int8_t *lhs, const int8_t *rhs, int8_t *out,
                                 int32_t count);

/* An operand of the innermost two loops: one that lies without gaps, a run that is the same in all turns, or
   one element a turn. */
struct cm_joined_operand {
    const int8_t *source;
    int32_t turn, step; /* elements from one turn, or element, to the next */
    int8_t *written;
};

static inline bool cm_is_repeated(const struct cm_joined_operand *operand)
{
    return operand->turn == 0 || operand->step == 0;
}

/* end: elements of the turns that are computed at once. */
static inline void cm_join_start(struct cm_joined_operand *operand, const int8_t *source, int32_t count,
                                 int32_t end)
{
    operand->source = source;
    if (operand->turn != 0)
        return;
    memcpy(operand->written, source, (size_t)count);
    for (int32_t done = count; done < end; done *= 2)
        memcpy(operand->written + done, operand->written, (size_t)(done < end - done ? done : end - done));
}

/* The elements of some turns. */
static inline const int8_t *cm_join(struct cm_joined_operand *operand, int32_t first, int32_t turns,
                                    int32_t count)
{
    if (operand->turn == 0)
        return operand->written;
    if (operand->step != 0)
        return operand->source + first * count;
    cm_isa_repeat_bytes(operand->written, operand->source + first, count, turns);
    return operand->written;
}

static inline void cm_joined_pairs(const struct cm_context *context, const struct cm_pair_operands *op,
                                   cm_pair_microkernel *apply, const void *parameters)
{
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth - 1);
    const struct cm_level *level = &nest.levels[op->depth - 1];
    struct cm_joined_operand left = {.turn = level->step[0], .step = 1};
    struct cm_joined_operand right = {.turn = level->step[1], .step = op->rhs_step};
    int8_t written[CM_JOINED_ELEMENTS];
    const bool both = cm_is_repeated(&left) && cm_is_repeated(&right);
    const int32_t count = op->count, room = both ? CM_JOINED_ELEMENTS / 2 : CM_JOINED_ELEMENTS;
    const int32_t most = room / count;
    left.written = written;
    right.written = written + CM_JOINED_ELEMENTS - room;
    const int32_t end = count * (level->count < most ? level->count : most);
    do {
        int8_t *out = output + nest.offset[2];
        cm_join_start(&left, lhs + nest.offset[0], count, end);
        cm_join_start(&right, rhs + nest.offset[1], count, end);
        for (int32_t first = 0, turns = most; first < level->count; first += turns) {
            if (turns > level->count - first)
                turns = level->count - first;
            const int8_t *a = cm_join(&left, first, turns, count), *b = cm_join(&right, first, turns, count);
            apply(parameters, a, b, out + first * count, turns * count);
        }
    } while (cm_nest_next(&nest));
}

#endif
