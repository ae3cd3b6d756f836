/* Runs batches of planned programs with any kernel; the format is in
 * compiler/cmcompiler/emit/harness_batch.py. */
#include <string.h>

#include "cmrt/board.h"
#include "cmrt/checksum.h"
#include "cmrt/host.h"
#include "cmrt/program.h"
#include "cmrt/text.h"
#include "kernels.h"
#include "sanitizer.h"

enum { VERSION = 3, KERNEL_NAME_BYTES = 48, ALIGNMENT = 16, POISON = 0xa5 };
/* Poisoned memory around the arena, on boards with sanitizers: as much as a row or two. */
enum { GUARD_BYTES = 4096 };
#define BATCH_MAGIC UINT32_C(0x42484d43)   /* CMHB */
#define RESULTS_MAGIC UINT32_C(0x52484d43) /* CMHR */

/* Marks a branch, stream, feed, drain or run, instead of a kernel's index. */
#define CONTROL UINT32_MAX

/* Batches may have runs. */
extern cm_tiler *const linked_tiler;
cm_tiler *const linked_tiler = cm_take_tiles;

struct header {
    uint32_t magic, version, file_bytes, kernel_count, kernels, case_count, cases, arena_bytes;
};
struct test_case {
    uint32_t constants, constant_bytes, arena_bytes, steps, step_count, states, state_count, inputs,
        input_count, outputs, output_count, checks, check_count, continues, fences, fence_count;
};
struct step {
    uint32_t kernel, arguments;
    int32_t y0, y1;
};
struct input {
    uint32_t ref, bytes, data, reserved;
};
struct output {
    uint32_t ref, bytes, data, index;
};
struct check {
    uint32_t step, ref, bytes, reserved;
};

/* The rows of an image that a stage may touch: from (y * factor + low) / divisor to (y * factor + high) /
   divisor, rounded down, for its row y. It stands during the steps of its scope: elsewhere the rows of a
   tile are other memory. */
struct fence {
    uint32_t step, ref, row_bytes, ring;
    int32_t height, factor, low, high, divisor;
    uint32_t scope, scope_end, reserved;
};

/* The workspace: batch file, arena, results of the current case. */
struct harness {
    uint8_t *batch, *arena, *results, *end;
};

static int refuse(const char *reason, const char *name)
{
    struct cm_text text;
    cm_text_begin(&text, "error");
    cm_text_word(&text, reason);
    cm_text_word(&text, name);
    cm_text_send(&text);
    return 1;
}

static cm_kernel *find_kernel(const char *name)
{
    for (uint32_t i = 0; i < named_kernel_count; ++i)
        if (strcmp(named_kernels[i].name, name) == 0)
            return named_kernels[i].run;
    return NULL;
}

static const char *kernel_name(const struct harness *harness, uint32_t kernel)
{
    const struct header *header = (const void *)harness->batch;
    return (const char *)harness->batch + header->kernels + kernel * KERNEL_NAME_BYTES;
}

/* A case under way: where its results go, and its steps with their kernels. */
struct run {
    struct cm_context context;
    uint64_t *ticks;
    uint32_t *checksums;
    struct cm_step *steps;
    const struct fence *fences, *fences_end;
    const struct cm_step *stages, *stages_end; /* of the stream under way */
};

static uintptr_t run_bytes(const struct test_case *test)
{
    return (sizeof(uint64_t) + sizeof(struct cm_step)) * test->step_count +
           sizeof(uint32_t) * test->check_count;
}

static struct run prepare(const struct harness *harness, const struct test_case *test)
{
    const uint8_t *batch = harness->batch;
    const struct step *steps = (const void *)(batch + test->steps);
    struct run run = {
        .context = {.arena = harness->arena, .constants = batch + test->constants},
        .ticks = (void *)harness->results,
        .fences = (const void *)(batch + test->fences),
        .fences_end = (const struct fence *)(const void *)(batch + test->fences) + test->fence_count,
    };
    run.steps = (void *)(run.ticks + test->step_count);
    run.checksums = (void *)(run.steps + test->step_count);
    for (uint32_t i = 0; i < test->step_count; ++i) {
        run.ticks[i] = 0;
        run.steps[i] = (struct cm_step){
            .run = steps[i].kernel == CONTROL ? NULL : find_kernel(kernel_name(harness, steps[i].kernel)),
            .call = {batch + steps[i].arguments, steps[i].y0, steps[i].y1},
        };
    }
    return run;
}

static int32_t rounded_down(int32_t a, int32_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Lets all stages touch all rows of their images, or none, while a stage runs. */
static void open_all(const struct run *run, const struct cm_step *stage, bool open)
{
    const uint32_t at = (uint32_t)(stage - run->steps);
    for (const struct fence *fence = run->fences; fence < run->fences_end; ++fence) {
        const struct cm_step *step = &run->steps[fence->step];
        const uint8_t *rows = cm_read(&run->context, fence->ref);
        if (step < run->stages || step >= run->stages_end || at < fence->scope || at >= fence->scope_end)
            continue;
        if (open)
            allow(rows, rows + fence->ring * fence->row_bytes);
        else
            forbid(rows, rows + fence->ring * fence->row_bytes);
    }
}

static void open_rows(const struct run *run, const struct cm_step *stage, const struct cm_call *call)
{
    for (const struct fence *fence = run->fences; fence < run->fences_end; ++fence) {
        if (stage != &run->steps[fence->step])
            continue;
        int32_t first = rounded_down(call->y0 * fence->factor + fence->low, fence->divisor);
        int32_t last = rounded_down((call->y1 - 1) * fence->factor + fence->high, fence->divisor);
        for (int32_t y = first < 0 ? 0 : first; y <= last && y < fence->height; ++y) {
            const uint8_t *row = cm_read(&run->context, fence->ref);
            row += (uint32_t)y % fence->ring * fence->row_bytes;
            allow(row, row + fence->row_bytes);
        }
    }
}

static void take_turn(void *user, const struct cm_step *stage, const struct cm_call *call,
                      struct cm_progress *progress)
{
    struct run *run = user;
    (void)progress;
    open_all(run, stage, false);
    open_rows(run, stage, call);
    uint64_t start = cm_board_ticks();
    stage->run(&run->context, call);
    run->ticks[stage - run->steps] += cm_board_ticks() - start;
    open_all(run, stage, true);
}

/* Where the rows of an output are gathered. */
static const struct output *drained(const struct output *outputs, uint32_t index)
{
    while (outputs->ref != CM_REF_NONE || outputs->index != index)
        ++outputs;
    return outputs;
}

/* Performs a step; feeds it the rows that it waits for, and keeps those that it gives away. */
static uint32_t run_step(struct run *run, const struct cm_step *step, uint8_t *batch,
                         const struct input *inputs, const struct output *outputs)
{
    struct cm_wait wait = {0};
    for (;;) {
        uint64_t start = cm_board_ticks();
        uint32_t left_out = cm_run_step(&run->context, step, take_turn, run, &wait);
        run->ticks[step - run->steps] += cm_board_ticks() - start;
        if (wait.stage == 0)
            return left_out;
        const struct cm_call row = {NULL, (int32_t)wait.row, (int32_t)wait.row + 1};
        uint32_t offset = wait.offset;
        open_all(run, step + wait.stage, false);
        open_rows(run, step + wait.stage, &row);
        if (wait.into != NULL)
            memcpy(wait.into, batch + inputs[wait.port].data + offset, wait.bytes);
        else
            memcpy(batch + drained(outputs, wait.port)->data + offset, wait.from, wait.bytes);
        open_all(run, step + wait.stage, true);
    }
}

static bool run(const struct harness *harness, const struct test_case *test)
{
    uint8_t *batch = harness->batch;
    const struct input *inputs = (const void *)(batch + test->inputs);
    const struct output *outputs = (const void *)(batch + test->outputs);
    const struct check *checks = (const void *)(batch + test->checks);
    struct run run = prepare(harness, test);

    uint8_t *arena_end = harness->arena + test->arena_bytes;
    if (test->continues == 0) {
        allow(harness->arena, harness->results);
        memset(harness->arena, POISON, test->arena_bytes);
        forbid(arena_end, harness->results);
        cm_reset_states(&run.context, (const void *)(batch + test->states), test->state_count);
    }
    for (uint32_t i = 0; i < test->input_count; ++i)
        if (inputs[i].ref != CM_REF_NONE)
            memcpy(cm_write(&run.context, inputs[i].ref), batch + inputs[i].data, inputs[i].bytes);

    uint32_t checked = 0, left_out = 0;
    for (uint32_t i = 0; i < test->step_count; ++i) {
        if (left_out > 0) {
            --left_out;
        } else {
            const struct cm_row_stream *stream = cm_row_stream_of(&run.steps[i]);
            run.stages = &run.steps[i + 1];
            run.stages_end = run.stages + (stream != NULL ? stream->count : 0);
            left_out = run_step(&run, &run.steps[i], batch, inputs, outputs);
        }
        for (; checked < test->check_count && checks[checked].step == i; ++checked)
            run.checksums[checked] =
                cm_checksum(cm_read(&run.context, checks[checked].ref), checks[checked].bytes);
    }

    bool written =
        cm_host_append("results", run.ticks, test->step_count * (uint32_t)sizeof *run.ticks) &&
        cm_host_append("results", run.checksums, test->check_count * (uint32_t)sizeof *run.checksums);
    for (uint32_t i = 0; i < test->output_count; ++i) {
        const void *output = batch + outputs[i].data;
        if (outputs[i].ref != CM_REF_NONE)
            output = cm_read(&run.context, outputs[i].ref);
        written = written && cm_host_append("results", output, outputs[i].bytes);
    }
    return written;
}

static uint8_t *aligned(uint8_t *address)
{
    return address + (-(uintptr_t)address % ALIGNMENT);
}

/* Reads the batch into the workspace and divides the rest. */
static int load(struct harness *harness)
{
    struct header header;
    if (!cm_host_read("batch", 0, &header, sizeof header))
        return refuse("cannot read", "batch");
    if (header.magic != BATCH_MAGIC || header.version != VERSION)
        return refuse("not a batch of this version:", "batch");

    struct cm_workspace workspace = cm_board_workspace();
    harness->batch = aligned(workspace.begin);
    harness->end = workspace.end;
    uint32_t room = (uint32_t)(harness->end - harness->batch);
    const uint32_t gaps = 2 * (GUARD_BYTES + ALIGNMENT);
    if (header.file_bytes > room || header.arena_bytes > room - header.file_bytes ||
        gaps > room - header.file_bytes - header.arena_bytes)
        return refuse("too big for the workspace:", "batch");
    harness->arena = aligned(harness->batch + header.file_bytes + GUARD_BYTES);
    harness->results = aligned(harness->arena + header.arena_bytes + GUARD_BYTES);
    if (!cm_host_read("batch", 0, harness->batch, header.file_bytes))
        return refuse("cannot read", "batch");
    forbid(harness->batch + header.file_bytes, harness->arena);

    for (uint32_t i = 0; i < header.kernel_count; ++i)
        if (find_kernel(kernel_name(harness, i)) == NULL)
            return refuse("no kernel", kernel_name(harness, i));
    return 0;
}

int cm_main(void)
{
    struct harness harness;
    int status = load(&harness);
    if (status != 0)
        return status;
    const struct header *header = (const void *)harness.batch;
    const struct test_case *cases = (const void *)(harness.batch + header->cases);
    for (uint32_t i = 0; i < header->case_count; ++i) {
        if (run_bytes(&cases[i]) > (uintptr_t)(harness.end - harness.results))
            return refuse("too big for the workspace:", "results");
    }

    const uint32_t start[] = {RESULTS_MAGIC, VERSION, header->case_count, 0};
    bool written = cm_host_append("results", start, sizeof start);
    for (uint32_t i = 0; written && i < header->case_count; ++i)
        written = run(&harness, &cases[i]);
    written = written && cm_host_append("results", "CMHE", 4);
    return written ? 0 : refuse("cannot write", "results");
}
