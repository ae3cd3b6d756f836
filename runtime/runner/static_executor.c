/* The executor of planned programs: calls their kernels one after the other. */
#include <stddef.h>

#include "cmrt/executor.h"
#include "cmrt/stopwatch.h"
#include "model.h"

static const struct cm_program *const program = &CM_MODEL_PROGRAM;

/* Attributes of the arena, for builds that place it in a region of its own. */
#ifndef CM_ARENA
#define CM_ARENA
#endif

/* The link script recognises it by its name. */
static CM_ARENA _Alignas(16) uint8_t cm_arena[CM_MODEL_ARENA_BYTES];

static struct cm_context context(void)
{
    return (struct cm_context){.arena = cm_arena, .constants = program->constants};
}

struct cm_description cm_executor_describe(void)
{
    return (struct cm_description){
        .executor = "static",
        .identity = program->identity,
        .input_count = program->input_count,
        .output_count = program->output_count,
        .step_count = program->step_count,
        .arena_bytes = program->arena_bytes,
    };
}

bool cm_executor_load(void)
{
    return true;
}

const char *cm_executor_error(void)
{
    return NULL;
}

struct cm_buffer cm_executor_input(uint32_t index)
{
    struct cm_context memory = context();
    const struct cm_port *port = &program->inputs[index];
    if (port->data == CM_REF_NONE)
        return (struct cm_buffer){NULL, port->bytes};
    return (struct cm_buffer){cm_write(&memory, port->data), port->bytes};
}

const void *cm_executor_peek(uint32_t place, uint32_t bytes)
{
    struct cm_context memory = context();
    uint32_t size = (place & CM_REF_CONSTANT) != 0 ? program->constant_bytes : program->arena_bytes;
    uint32_t offset = place & ~CM_REF_CONSTANT;
    return offset <= size && bytes <= size - offset ? cm_read(&memory, place) : NULL;
}

struct cm_const_buffer cm_executor_output(uint32_t index)
{
    struct cm_context memory = context();
    const struct cm_port *port = &program->outputs[index];
    if (port->data == CM_REF_NONE)
        return (struct cm_const_buffer){NULL, port->bytes};
    return (struct cm_const_buffer){cm_read(&memory, port->data), port->bytes};
}

void cm_executor_reset(void)
{
    struct cm_context memory = context();
    cm_reset_states(&memory, program->states, program->state_count);
}

static struct {
    struct cm_outside hooks;
    void *user;
} outside;

void cm_executor_feed(struct cm_outside hooks, void *user)
{
    outside.hooks = hooks;
    outside.user = user;
}

/* Brings or takes the row that a step waits for. */
static bool exchange(const struct cm_wait *wait)
{
    const struct cm_outside *hooks = &outside.hooks;
    if (wait->into != NULL)
        return hooks->bring != NULL &&
               hooks->bring(outside.user, wait->port, wait->offset, wait->into, wait->bytes);
    return hooks->take != NULL &&
           hooks->take(outside.user, wait->port, wait->offset, wait->from, wait->bytes);
}

/* A run under a stopwatch. */
struct run {
    struct cm_context memory;
    uint64_t cost;   /* of a reading */
    uint32_t turn;   /* of timing a turn */
    uint64_t inside; /* of this step, spent in its stages and on timing them */
};

#ifdef CM_HOT_STEPS
extern const uint8_t cm_hot_constants[];

/* The first steps read constants only from the start of the program's. */
static const struct cm_context *memory_of(const struct run *run, const struct cm_step *step)
{
    static const struct cm_context hot = {.arena = cm_arena, .constants = cm_hot_constants};
    const uintptr_t first = (uintptr_t)program->steps, place = (uintptr_t)step;
    return place - first < CM_HOT_STEPS * sizeof *step ? &hot : &run->memory;
}
#else
static inline const struct cm_context *memory_of(const struct run *run, const struct cm_step *step)
{
    (void)step;
    return &run->memory;
}
#endif

static void take_turn(void *user, const struct cm_step *stage, const struct cm_call *call,
                      struct cm_progress *progress)
{
    struct run *run = user;
    (void)progress;
    stage->run(memory_of(run, stage), call);
}

static void time_turn(void *user, const struct cm_step *stage, const struct cm_call *call,
                      struct cm_progress *progress)
{
    struct run *run = user;
    uint64_t start = cm_board_ticks();
    stage->run(memory_of(run, stage), call);
    uint64_t ticks = cm_ticks_since(start, run->cost);
    const uint64_t total = cm_progress_ticks(progress) + ticks;
    progress->ticks[0] = (uint32_t)total;
    progress->ticks[1] = (uint32_t)(total >> 32);
    run->inside += ticks + run->turn;
}

static void make_nothing(const struct cm_context *context, const struct cm_call *call)
{
    (void)context;
    (void)call;
}

/* The time that a turn of an empty stage takes: as cm_clock_cost. */
static uint32_t find_time(struct run *run, cm_turn *turn)
{
    const struct cm_step stage = {.run = make_nothing};
    struct cm_progress progress = {0};
    uint32_t least = UINT32_MAX;
    for (int tries = 0; tries < 8; ++tries) {
        uint32_t start = (uint32_t)cm_board_ticks();
        turn(run, &stage, &stage.call, &progress);
        uint32_t ticks = (uint32_t)cm_board_ticks() - start;
        if (ticks < least)
            least = ticks;
    }
    return least;
}

/* Performs a step as cm_run_step, with its own time; false if rows are neither brought nor taken. */
static bool time_step(struct run *run, const struct cm_step *step, uint32_t *left_out, uint64_t *own)
{
    struct cm_wait wait = {0};
    run->inside = 0;
    uint64_t ticks = 0;
    for (;;) {
        uint64_t start = cm_board_ticks();
        *left_out = cm_run_step(memory_of(run, step), step, time_turn, run, &wait);
        ticks += cm_ticks_since(start, run->cost);
        if (wait.stage == 0)
            break;
        if (!exchange(&wait))
            return false;
    }
    *own = ticks > run->inside ? ticks - run->inside : 0;
    return true;
}

static bool has_streams(void)
{
    for (uint32_t i = 0; i < program->step_count; ++i)
        if (cm_row_stream_of(&program->steps[i]) != NULL)
            return true;
    return false;
}

bool cm_executor_run(cm_step_hook *hook, void *user)
{
    struct run run = {context(), cm_clock_cost(), 0, 0};
    if (has_streams()) {
        const uint32_t plain = find_time(&run, take_turn);
        const uint32_t timed = find_time(&run, time_turn);
        run.turn = timed > plain ? timed - plain : 0;
    }
    const struct cm_progress *stage = NULL;
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < program->step_count; ++i) {
        const struct cm_step *step = &program->steps[i];
        uint64_t ticks = 0;
        if (left_out > 0) {
            --left_out;
            ticks = stage != NULL ? cm_progress_ticks(stage++) : 0;
        } else {
            const struct cm_row_stream *stream = cm_row_stream_of(step);
            stage = stream != NULL ? cm_read(&run.memory, stream->progress) : NULL;
            if (!time_step(&run, step, &left_out, &ticks))
                return false;
        }
        if (hook != NULL && !hook(user, i, ticks))
            return false;
    }
    return true;
}

bool cm_executor_pool(uint32_t index, struct cm_pool_use *use)
{
    (void)index, (void)use;
    return false;
}
