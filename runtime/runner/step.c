/* Steps of a plan: kernel calls, branches, and streams of stages. */
#include "cmrt/program.h"

#include <stdbool.h>
#include <string.h>

#define ANY UINT32_MAX

/* A stream under way. */
struct flow {
    const struct cm_row_stream *stream;
    const struct cm_step *steps;
    struct cm_progress *progress;
    cm_turn *turn;
    void *user;
};

/* Rows of a stage that do not exist yet, but are wanted; 0 if all are there. */
static inline int32_t count_lacking(const struct flow *flow, const struct cm_demand *demand, int32_t end)
{
    const int32_t rows = flow->progress[demand->stage].rows;
    int32_t wanted = end * demand->factor + demand->offset;
    if (demand->divisor != 1)
        wanted /= demand->divisor;
    if (rows >= wanted)
        return 0;
    const int32_t last = flow->steps[demand->stage].call.y1;
    return (wanted < last ? wanted : last) - rows;
}

/* Rows of a stage whose arguments move along: one a call, or those that follow each other in all rings. */
static __attribute__((noinline)) void run_rows(const struct flow *flow, const struct cm_step *step,
                                               const struct cm_stage *stage, const struct cm_move *moves,
                                               const struct cm_call *rows, struct cm_progress *progress)
{
    uint32_t words[CM_MOVED_WORDS];
    const uint32_t *const first = rows->arguments;
    memcpy(words, first, stage->words * sizeof *words);
    int32_t y = rows->y0;
    while (y < rows->y1) {
        int32_t count = stage->counted != 0 ? rows->y1 - y : 1;
        for (const struct cm_move *move = moves; move < moves + stage->moves; ++move) {
            const int32_t factor = move->place >> 6 & 31, divisor = move->place >> 11;
            const uint32_t word = move->place & 63;
            int32_t row = y * factor + move->shift;
            if (divisor != 1)
                row /= divisor;
            if (row >= move->ring)
                row %= move->ring;
            if (count > move->ring - row)
                count = move->ring - row;
            words[word] = first[word] + (uint32_t)(row * move->stride);
        }
        if (stage->counted != 0)
            words[stage->counted] = first[stage->counted] * (uint32_t)count;
        const struct cm_call call = {words, y, y + count};
        flow->turn(flow->user, step, &call, progress);
        y += count;
    }
}

/* Runs stages, at first `at`, until `last` has all of its rows; else returns the stage that lacks some from
   outside, and how many. */
static __attribute__((noinline)) uint32_t complete(const struct flow *flow, uint32_t at, uint32_t last,
                                                   int32_t *lacking)
{
    for (int32_t rows = 1;;) { /* that another stage wants of this one */
        const struct cm_stage *stage = &flow->stream->stages[at];
        const struct cm_demand *demands = (const void *)((const uint32_t *)flow->stream + stage->list);
        const struct cm_demand *met = demands + stage->demands;
        const struct cm_step *step = &flow->steps[at];
        struct cm_progress *progress = &flow->progress[at];
        int32_t y = progress->rows, end = y + stage->band;
        if (flow->stream->upward != 0) { /* bands begin where those of rings do */
            int32_t above = step->call.y0 + step->call.y1 - y;
            end = y + above - (above - 1) / stage->band * stage->band;
        }
        if (end > step->call.y1)
            end = step->call.y1;
        const struct cm_demand *demand = demands;
        while (demand < met && (rows = count_lacking(flow, demand, end)) == 0)
            ++demand;
        if (demand < met) {
            flow->progress[demand->stage].caller = (uint16_t)at;
            at = demand->stage;
            continue;
        }
        if (step->run == NULL) {
            *lacking = rows;
            return at;
        }
        progress->rows = (int16_t)end;
        struct cm_call call = {step->call.arguments, y, end};
        if (flow->stream->upward != 0) {
            call.y0 = step->call.y0 + step->call.y1 - end;
            call.y1 = step->call.y0 + step->call.y1 - y;
        }
        if (stage->moves == 0)
            flow->turn(flow->user, step, &call, progress);
        else
            run_rows(flow, step, stage, (const void *)met, &call, progress);
        if (at != last)
            at = progress->caller;
        else if (end >= step->call.y1)
            return ANY;
    }
}

static void wait_for(const struct cm_context *context, const struct cm_feed *feed, uint32_t row,
                     struct cm_wait *wait)
{
    uint8_t *place = (uint8_t *)cm_write(context, feed->rows) + row % feed->ring * feed->row_bytes;
    wait->port = feed->port;
    wait->row = row;
    wait->bytes = feed->row_bytes;
    wait->into = feed->control == CM_FEED ? place : NULL;
    wait->from = feed->control == CM_FEED ? NULL : place;
}

static void run_stream(const struct cm_context *context, const struct cm_row_stream *stream,
                       const struct cm_step *steps, cm_turn *turn, void *user, struct cm_wait *wait)
{
    struct cm_progress *progress = cm_write(context, stream->progress);
    uint32_t resumed = ANY;
    if (wait->stage != 0) {
        const uint32_t fed = wait->stage - 1;
        ++progress[fed].rows;
        if (wait->more > 0) {
            --wait->more;
            wait_for(context, steps[fed].call.arguments, (uint32_t)progress[fed].rows, wait);
            return;
        }
        wait->stage = 0;
        if (wait->into != NULL) /* else no stage waits for it */
            resumed = progress[fed].caller;
    } else {
        for (uint32_t i = 0; i < stream->count; ++i)
            progress[i] = (struct cm_progress){.rows = (int16_t)steps[i].call.y0};
    }
    const struct flow flow = {stream, steps, progress, turn, user};
    for (uint32_t last = stream->count; last-- > 0;) {
        if (stream->stages[last].complete == 0 || progress[last].rows >= steps[last].call.y1)
            continue;
        int32_t lacking = 0;
        uint32_t outside = complete(&flow, resumed != ANY ? resumed : last, last, &lacking);
        resumed = ANY;
        if (outside != ANY) {
            wait->stage = outside + 1;
            wait_for(context, steps[outside].call.arguments, (uint32_t)progress[outside].rows, wait);
            wait->more = wait->into != NULL ? (uint32_t)lacking - 1 : 0;
            return;
        }
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
