/* Steps of a plan: kernel calls, branches, and streams of stages. */
#include "cmrt/program.h"

#include <stdbool.h>
#include <string.h>

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
        int32_t row = y * move->factor + move->shift;
        if (move->divisor != 1)
            row /= move->divisor;
        if (row >= move->ring)
            row %= move->ring;
        words[move->word] += (uint32_t)(row * move->stride);
    }
    const struct cm_call call = {words, y, y + 1};
    turn(user, step, &call, progress);
}

/* The next rows of stage `at` if it has all that it needs; else the stage to run first. */
static uint32_t take_turn(const struct cm_row_stream *stream, const struct cm_step *steps,
                          struct cm_progress *progress, uint32_t at, cm_turn *turn, void *user)
{
    const struct cm_stage *stage = &stream->stages[at];
    const struct cm_demand *demands = (const void *)((const uint32_t *)stream + stage->list);
    const struct cm_step *step = &steps[at];
    int32_t y = progress[at].rows, end = y + stage->band;
    end = end < step->call.y1 ? end : step->call.y1;
    for (int i = 0; i < stage->demands; ++i) {
        uint32_t other = demands[i].stage;
        if (lacks(&demands[i], &steps[other], &progress[other], end))
            return other;
    }
    if (stage->moves == 0) {
        const struct cm_call call = {step->call.arguments, y, end};
        turn(user, step, &call, &progress[at]);
    } else {
        for (; y < end; ++y)
            run_row(step, stage, (const void *)(demands + stage->demands), y, turn, user, &progress[at]);
    }
    progress[at].rows = end;
    return at;
}

static void run_stream(const struct cm_context *context, const struct cm_row_stream *stream,
                       const struct cm_step *steps, cm_turn *turn, void *user)
{
    struct cm_progress *progress = cm_write(context, stream->progress);
    for (uint32_t i = 0; i < stream->count; ++i)
        progress[i] = (struct cm_progress){.rows = steps[i].call.y0};
    for (uint32_t last = stream->count; last-- > 0;) {
        uint32_t at = last;
        while (stream->stages[last].complete != 0 && progress[last].rows < steps[last].call.y1) {
            uint32_t next = take_turn(stream, steps, progress, at, turn, user);
            if (next != at) {
                progress[next].caller = at;
                at = next;
            } else if (at != last) {
                at = progress[at].caller;
            }
        }
    }
}

uint32_t cm_run_step(const struct cm_context *context, const struct cm_step *step, cm_turn *turn, void *user)
{
    if (step->run != NULL) {
        step->run(context, &step->call);
        return 0;
    }
    const struct cm_row_stream *stream = cm_row_stream_of(step);
    if (stream != NULL) {
        run_stream(context, stream, step + 1, turn, user);
        return stream->count;
    }
    const struct cm_branch *branch = step->call.arguments;
    const uint8_t *condition = cm_read(context, branch->condition);
    return (*condition != 0) == (branch->expected != 0) ? 0 : branch->count;
}
