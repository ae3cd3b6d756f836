/* Steps of a plan: kernel calls, branches, and streams of stages. */
#include "cmrt/program.h"

#include <stdbool.h>
#include <string.h>

#define ANY UINT32_MAX

/* Rows of a stage that do not exist yet, but are wanted; 0 if all are there. */
static bool lacks(const struct cm_demand *demand, const struct cm_step *stage,
                  const struct cm_progress *progress, int32_t end)
{
    int32_t wanted = end * demand->factor + demand->offset;
    if (demand->divisor != 1)
        wanted /= demand->divisor;
    return progress->rows < wanted && progress->rows < stage->call.y1;
}

/* One row of a stage whose arguments move along. */
static void run_row(const struct cm_step *step, const struct cm_stage *stage, const struct cm_move *moves,
                    int32_t y, cm_turn *turn, void *user, struct cm_progress *progress)
{
    uint32_t words[CM_MOVED_WORDS];
    memcpy(words, step->call.arguments, stage->words * sizeof *words);
    for (int i = 0; i < stage->moves; ++i) {
        const struct cm_move *move = &moves[i];
        const int32_t factor = move->place >> 6 & 31, divisor = move->place >> 11;
        int32_t row = y * factor + move->shift;
        if (divisor != 1)
            row /= divisor;
        if (row >= move->ring)
            row %= move->ring;
        words[move->place & 63] += (uint32_t)(row * move->stride);
    }
    const struct cm_call call = {words, y, y + 1};
    turn(user, step, &call, progress);
}

/* The next rows of stage `at` if it has all that it needs, unless they are outside; else the stage to run
 * first. */
static uint32_t take_turn(const struct cm_row_stream *stream, const struct cm_step *steps,
                          struct cm_progress *progress, uint32_t at, cm_turn *turn, void *user)
{
    const struct cm_stage *stage = &stream->stages[at];
    const struct cm_demand *demands = (const void *)((const uint32_t *)stream + stage->list);
    const struct cm_step *step = &steps[at];
    int32_t y = progress[at].rows, end = y + stage->band;
    int32_t both = step->call.y0 + step->call.y1; /* of an upward stage: a row and its number from below */
    if (stream->upward != 0)                      /* bands begin where those of rings do */
        end = both - (both - y - 1) / stage->band * stage->band;
    end = end < step->call.y1 ? end : step->call.y1;
    for (int i = 0; i < stage->demands; ++i) {
        uint32_t other = demands[i].stage;
        if (lacks(&demands[i], &steps[other], &progress[other], end))
            return other;
    }
    if (step->run == NULL)
        return at;
    int32_t y0 = y, y1 = end;
    if (stream->upward != 0) {
        y0 = both - end;
        y1 = both - y;
    }
    if (stage->moves == 0) {
        const struct cm_call call = {step->call.arguments, y0, y1};
        turn(user, step, &call, &progress[at]);
    } else {
        for (; y0 < y1; ++y0)
            run_row(step, stage, (const void *)(demands + stage->demands), y0, turn, user, &progress[at]);
    }
    progress[at].rows = (int16_t)end;
    return at;
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

/* The stage that goes on after the wait of another one, now that this has its row; ANY if none waits for it,
   as for that of an output. */
static uint32_t resume(struct cm_progress *progress, struct cm_wait *wait)
{
    uint32_t fed = wait->stage - 1;
    wait->stage = 0;
    ++progress[fed].rows;
    return wait->into != NULL ? progress[fed].caller : ANY;
}

static void run_stream(const struct cm_context *context, const struct cm_row_stream *stream,
                       const struct cm_step *steps, cm_turn *turn, void *user, struct cm_wait *wait)
{
    struct cm_progress *progress = cm_write(context, stream->progress);
    uint32_t resumed = ANY;
    if (wait->stage != 0)
        resumed = resume(progress, wait);
    else
        for (uint32_t i = 0; i < stream->count; ++i)
            progress[i] = (struct cm_progress){.rows = (int16_t)steps[i].call.y0};
    for (uint32_t last = stream->count; last-- > 0;) {
        if (stream->stages[last].complete == 0 || progress[last].rows >= steps[last].call.y1)
            continue;
        uint32_t at = resumed != ANY ? resumed : last;
        resumed = ANY;
        while (progress[last].rows < steps[last].call.y1) {
            uint32_t next = take_turn(stream, steps, progress, at, turn, user);
            if (next == at && steps[at].run == NULL) {
                wait->stage = at + 1;
                wait_for(context, steps[at].call.arguments, (uint32_t)progress[at].rows, wait);
                return;
            }
            if (next != at) {
                progress[next].caller = (uint16_t)at;
                at = next;
            } else if (at != last) {
                at = progress[at].caller;
            }
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
