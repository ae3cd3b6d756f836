/* The interface of executors: whatever runs a program for the runner. An image links exactly one. */
#ifndef CMRT_EXECUTOR_H
#define CMRT_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cm_description {
    const char *executor; /* its name: static, executorch */
    const char *identity; /* hash of the program */
    uint32_t input_count, output_count, step_count;
    uint32_t arena_bytes;
};
struct cm_description cm_executor_describe(void);

struct cm_buffer {
    void *data;
    uint32_t bytes;
};
struct cm_const_buffer {
    const void *data;
    uint32_t bytes;
};

/* Loads the program; false on failure. Called once, before the functions below. */
bool cm_executor_load(void);

/* Why loading or a run failed; NULL if unknown. */
const char *cm_executor_error(void);

/* Where to write input `index` before a run; NULL for one that comes row by row. Outputs of the previous run
   may be in the same memory. */
struct cm_buffer cm_executor_input(uint32_t index);

/* Where output `index` is after a run; NULL for one that goes row by row. */
struct cm_const_buffer cm_executor_output(uint32_t index);

/* The bytes at a place that the host names, such as an intermediate result; NULL unless all of them are in
   the executor's arena or constants. */
const void *cm_executor_peek(uint32_t place, uint32_t bytes);

/* Called after each step with its duration on the board's clock, 0 for steps that a branch skipped;
   returning false stops the run. */
typedef bool cm_step_hook(void *user, uint32_t step, uint64_t ticks);

/* Resets mutable buffers to their initial state; must be called before the first run. */
void cm_executor_reset(void);

/* Who has the inputs that come row by row, and who takes such outputs; rows come and go in order. `bring`
   writes `bytes` bytes of an input, from byte `offset` on, to `into`; `take` reads those of an output from
   `from`. Returning false stops the run. */
struct cm_outside {
    bool (*bring)(void *user, uint32_t input, uint32_t offset, void *into, uint32_t bytes);
    bool (*take)(void *user, uint32_t output, uint32_t offset, const void *from, uint32_t bytes);
};
void cm_executor_feed(struct cm_outside hooks, void *user);

/* Runs the program once; false if it failed or was stopped. The hook may be NULL. */
bool cm_executor_run(cm_step_hook *hook, void *user);

/* Memory beside the arena that an executor allocates from, and the most used of it. */
struct cm_pool_use {
    const char *name;
    uint32_t used, size;
};

/* The executor's pool `index`; false past the last. */
bool cm_executor_pool(uint32_t index, struct cm_pool_use *use);

#ifdef __cplusplus
}
#endif

#endif
