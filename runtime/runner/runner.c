/* The runner: reads samples from the host, runs the executor, and writes the outputs back. */
#include "cmrt/runner.h"

#include <stddef.h>

#include "cmrt/board.h"
#include "cmrt/executor.h"
#include "cmrt/host.h"
#include "cmrt/text.h"

struct run {
    struct cm_request request;
    uint32_t sample;
    uint64_t ticks;    /* of the sample so far */
    uint32_t watches;  /* reported in this sample */
    const char *error; /* why the run was stopped, or NULL */
};

/* `input0`, …, `inputf`, `input10`, …: as the host names them. */
struct name {
    char text[16];
};

static struct name numbered(const char *prefix, uint32_t number)
{
    struct name name;
    uint32_t length = 0;
    while (*prefix != '\0')
        name.text[length++] = *prefix++;
    int shift = 28;
    while (shift > 0 && (number >> shift) == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        name.text[length++] = "0123456789abcdef"[(number >> shift) & 15];
    name.text[length] = '\0';
    return name;
}

/* Lines are not on the stack while a sample runs. */
#define APART __attribute__((noinline))

static APART void report_model(const struct cm_description *model)
{
    struct cm_text text;
    cm_text_begin(&text, "runner");
    cm_text_number(&text, CM_RUNNER_VERSION);
    cm_text_word(&text, model->executor);
    cm_text_word(&text, model->identity);
    cm_host_greet(cm_text_end(&text));
    cm_text_begin(&text, "model");
    cm_text_number(&text, model->input_count);
    cm_text_number(&text, model->output_count);
    cm_text_number(&text, model->step_count);
    cm_text_number(&text, model->arena_bytes);
    cm_text_send(&text);
}

/* Writes the bytes that the host watches after this step. */
static bool show_watched(struct run *run, uint32_t step)
{
    while (run->watches < run->request.watches) {
        struct cm_watch watch;
        if (!cm_host_read("watch", run->watches * (uint32_t)sizeof watch, &watch, sizeof watch)) {
            run->error = "cannot read watch";
            return false;
        }
        if (watch.step != step)
            return true;
        const void *seen = cm_executor_peek(watch.place, watch.bytes);
        if (seen == NULL) {
            run->error = "a watch leaves arena and constants";
            return false;
        }
        if (!cm_host_append("trace", seen, watch.bytes)) {
            run->error = "cannot write trace";
            return false;
        }
        ++run->watches;
    }
    return true;
}

static bool step_done(void *user, uint32_t step, uint64_t ticks)
{
    struct run *run = user;
    run->ticks += ticks;
    if (run->sample < run->request.profiled) {
        struct cm_text text;
        cm_text_begin(&text, "step");
        cm_text_number(&text, run->sample);
        cm_text_number(&text, step);
        cm_text_number(&text, ticks);
        cm_text_send(&text);
    }
    return show_watched(run, step);
}

/* Why the executor failed, if known. */
static const char *reason(const char *otherwise)
{
    const char *error = cm_executor_error();
    return error != NULL ? error : otherwise;
}

static bool read_rows(void *user, uint32_t input, uint32_t offset, void *into, uint32_t bytes)
{
    struct run *run = user;
    uint32_t sample = run->sample * cm_executor_input(input).bytes;
    if (cm_host_read(numbered("input", input).text, sample + offset, into, bytes))
        return true;
    run->error = "cannot read rows";
    return false;
}

static bool write_rows(void *user, uint32_t output, uint32_t offset, const void *from, uint32_t bytes)
{
    struct run *run = user;
    (void)offset;
    if (cm_host_append(numbered("output", output).text, from, bytes))
        return true;
    run->error = "cannot write rows";
    return false;
}

static APART void report_sample(const struct run *run)
{
    struct cm_text text;
    cm_text_begin(&text, "sample");
    cm_text_number(&text, run->sample);
    cm_text_number(&text, run->ticks);
    cm_text_send(&text);
}

static const char *run_sample(struct run *run, const struct cm_description *model)
{
    for (uint32_t i = 0; i < model->input_count; ++i) {
        struct cm_buffer input = cm_executor_input(i);
        if (input.data != NULL &&
            !cm_host_read(numbered("input", i).text, run->sample * input.bytes, input.data, input.bytes))
            return "cannot read input";
    }
    if (run->sample == 0 || run->request.reset != 0)
        cm_executor_reset();
    run->ticks = 0;
    run->watches = run->sample < run->request.watched ? run->request.watches : 0;
    run->error = NULL;
    if (!cm_executor_run(step_done, run))
        return run->error != NULL ? run->error : reason("the executor failed");
    for (uint32_t i = 0; i < model->output_count; ++i) {
        struct cm_const_buffer output = cm_executor_output(i);
        if (output.data != NULL && !cm_host_append(numbered("output", i).text, output.data, output.bytes))
            return "cannot write output";
    }
    report_sample(run);
    return NULL;
}

static const char *run_all(const struct cm_description *model)
{
    struct run run;
    if (!cm_host_read("request", 0, &run.request, sizeof run.request))
        return "cannot read request";
    if (run.request.version != CM_RUNNER_VERSION)
        return "the request is of another version";
    if (!cm_executor_load())
        return reason("the program cannot be loaded");
    cm_executor_feed((struct cm_outside){read_rows, write_rows}, &run);
    for (run.sample = 0; run.sample < run.request.samples; ++run.sample) {
        const char *error = run_sample(&run, model);
        if (error != NULL)
            return error;
    }
    return NULL;
}

static APART void report_pools(void)
{
    struct cm_pool_use pool;
    for (uint32_t i = 0; cm_executor_pool(i, &pool); ++i) {
        struct cm_text text;
        cm_text_begin(&text, "pool");
        cm_text_word(&text, pool.name);
        cm_text_number(&text, pool.used);
        cm_text_number(&text, pool.size);
        cm_text_send(&text);
    }
}

static APART void report_error(const char *error)
{
    struct cm_text text;
    cm_text_begin(&text, "error");
    cm_text_word(&text, error);
    cm_text_send(&text);
}

int cm_main(void)
{
    struct cm_description model = cm_executor_describe();
    report_model(&model);
    const char *error = run_all(&model);
    report_pools();
    if (error == NULL)
        return 0;
    report_error(error);
    return 1;
}
