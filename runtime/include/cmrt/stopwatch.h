/* The time between two points on the board's clock, less the overhead of reading it. */
#ifndef CMRT_STOPWATCH_H
#define CMRT_STOPWATCH_H

#include "cmrt/board.h"

/* The overhead: the shortest of several intervals between consecutive readings, as the first ones wait for
   code from flash. */
static inline uint64_t cm_clock_cost(void)
{
    uint64_t least = UINT64_MAX;
    for (int tries = 0; tries < 8; ++tries) {
        uint64_t start = cm_board_ticks();
        uint64_t cost = cm_board_ticks() - start;
        if (cost < least)
            least = cost;
    }
    return least;
}

/* The time since a reading of the clock. */
static inline uint64_t cm_ticks_since(uint64_t start, uint64_t cost)
{
    uint64_t ticks = cm_board_ticks() - start;
    return ticks > cost ? ticks - cost : 0;
}

#endif
