/* Steps of a plan: kernel calls, branches, and streams of stages. */
#include "cmrt/program.h"

#include <stdbool.h>
#include <string.h>

/* A stream under way. */
struct flow {
    const struct cm_row_stream *stream;
    const struct cm_step *steps;
    struct cm_progress *progress;
    cm_turn *turn;
    void *user;
};

static const struct cm_lap *find_lap(const struct cm_row_stream *stream, const struct cm_place *place)
{
    return (const void *)((const uint32_t *)stream + place->lap);
}

static uint32_t lap_words(const struct cm_lap *lap)
{
    return (uint32_t)(sizeof *lap + lap->turns + 3) / sizeof(uint32_t);
}

/* Goes on to the next turn; false behind the last one. */
static bool advance(const struct cm_row_stream *stream, struct cm_place *place)
{
    const struct cm_lap *lap = find_lap(stream, place);
    if (++place->turn == lap->turns) {
        place->turn = 0;
        if (++place->round == lap->rounds) {
            place->round = 0;
            place->lap += lap_words(lap);
        }
    }
    return place->lap != stream->order_end;
}

/* How many turns of the same stage follow. */
static __attribute__((cold, noinline)) uint32_t count_more(const struct cm_row_stream *stream,
                                                           struct cm_place place)
{
    const struct cm_lap *lap = find_lap(stream, &place);
    const uint32_t stage = lap->stages[place.turn];
    for (uint32_t count = 0;; ++count) {
        if (lap->turns == 1) { /* all rounds at once */
            count += lap->rounds - 1 - place.round;
            place.round = lap->rounds - 1U;
        }
        if (!advance(stream, &place))
            return count;
        lap = find_lap(stream, &place);
        if (lap->stages[place.turn] != stage)
            return count;
    }
}

/* Rows of a stage whose arguments move along: one a call, or those that follow each other in all rings. */
static __attribute__((noinline)) void run_rows(const struct flow *flow, uint32_t at, int32_t y, int32_t end)
{
    const struct cm_stage *const stage = &flow->stream->stages[at];
    const struct cm_step *const step = &flow->steps[at];
    const struct cm_move *const moves = (const void *)((const uint32_t *)flow->stream + stage->list);
    const uint32_t *const first = step->call.arguments;
    const uint32_t counted = stage->counted, moving = stage->moves;
    uint32_t words[CM_MOVED_WORDS];
    memcpy(words, first, stage->words * sizeof *words);
    while (y < end) {
        int32_t count = counted != 0 ? end - y : 1;
        uint32_t i = 0;
        do {
            const struct cm_move *const move = &moves[i];
            const uint32_t place = move->place, word = place & 63;
            const int32_t divisor = (int32_t)(place >> 11), ring = move->ring;
            int32_t row = y * (int32_t)(place >> 6 & 31) + move->shift;
            if (divisor != 1)
                row /= divisor;
            if (row >= ring)
                row %= ring;
            if (count > ring - row)
                count = ring - row;
            words[word] = first[word] + (uint32_t)(row * move->stride);
        } while (++i < moving);
        if (counted != 0)
            words[counted] = first[counted] * (uint32_t)count;
        const struct cm_call call = {words, y, y + count};
        flow->turn(flow->user, step, &call, &flow->progress[at]);
        y += count;
    }
}

/* The next rows of a stage. */
static inline void take_turn(const struct flow *flow, uint32_t at)
{
    const struct cm_stage *stage = &flow->stream->stages[at];
    const struct cm_step *step = &flow->steps[at];
    struct cm_progress *progress = &flow->progress[at];
    const int32_t last = step->call.y1;
    int32_t y = progress->rows, end = y + stage->band;
    if (flow->stream->upward == 0) {
        end = end < last ? end : last;
        progress->rows = end;
    } else { /* bands begin where those of rings do */
        const int32_t first = step->call.y0, above = first + last - y;
        y = (above - 1) / stage->band * stage->band;
        y = y > first ? y : first;
        progress->rows = first + last - y;
        end = above;
    }
    if (stage->moves != 0) {
        run_rows(flow, at, y, end);
        return;
    }
    const struct cm_call call = {step->call.arguments, y, end};
    flow->turn(flow->user, step, &call, progress);
}

#pragma weak cm_take_tiles

static void wait_for(const struct cm_context *context, const struct cm_feed *feed, uint32_t row,
                     struct cm_wait *wait)
{
    uint8_t *place = (uint8_t *)cm_write(context, feed->rows) + row % feed->ring * feed->row_bytes;
    wait->port = feed->port;
    wait->row = row;
    wait->bytes = feed->row_bytes;
    wait->offset = row * feed->row_bytes;
    if (feed->control == CM_FEED_AGAIN) {
        const struct cm_feed_again *again = (const void *)feed;
        wait->offset = row * again->stride + again->first;
    }
    wait->into = feed->control == CM_DRAIN ? NULL : place;
    wait->from = feed->control == CM_DRAIN ? place : NULL;
}

static void run_stream(const struct cm_context *context, const struct cm_row_stream *stream,
                       const struct cm_step *steps, cm_turn *turn, void *user, struct cm_wait *wait)
{
    struct cm_progress *progress = cm_write(context, stream->progress);
    const struct flow flow = {stream, steps, progress, turn, user};
    struct cm_place place = wait->place;
    if (wait->stage != 0) {
        ++progress[wait->stage - 1].rows;
        ++place.turn;
        wait->stage = 0;
    } else {
        for (uint32_t i = 0; i < stream->count; ++i)
            progress[i] = (struct cm_progress){.rows = steps[i].call.y0};
        place = (struct cm_place){.lap = stream->order};
        wait->more = 0;
    }
    for (; place.lap != stream->order_end; place.round = 0) {
        const struct cm_lap *lap = find_lap(stream, &place);
        for (; place.round < lap->rounds; ++place.round, place.turn = 0)
            for (; place.turn < lap->turns; ++place.turn) {
                const uint32_t at = lap->stages[place.turn];
                if (steps[at].run != NULL) {
                    take_turn(&flow, at);
                    continue;
                }
                if (__builtin_expect(*(const uint32_t *)steps[at].call.arguments == CM_TILES, 0)) {
                    cm_take_tiles(&steps[at], &progress[at], turn, user);
                    continue;
                }
                const uint32_t more = wait->more;
                wait->stage = at + 1;
                wait->place = place;
                wait_for(context, steps[at].call.arguments, (uint32_t)progress[at].rows, wait);
                wait->more = more > 0 ? more - 1 : wait->into != NULL ? count_more(stream, wait->place) : 0;
                return;
            }
        place.lap += lap_words(lap);
    }
}

uint32_t cm_run_step(const struct cm_context *context, const struct cm_step *step, cm_turn *turn, void *user,
                     struct cm_wait *wait)
{
    if (step->run != NULL) {
        step->run(context, &step->call);
        return 0;
    }
    const struct cm_row_stream *stream = cm_row_stream_of(step);
    if (stream != NULL) {
        run_stream(context, stream, step + 1, turn, user, wait);
        return stream->count;
    }
    const struct cm_branch *branch = step->call.arguments;
    const uint8_t *condition = cm_read(context, branch->condition);
    return (*condition != 0) == (branch->expected != 0) ? 0 : branch->count;
}
