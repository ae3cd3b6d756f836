/* What runs a program, as the runner sees it. One image links one executor. */
#ifndef CMRT_EXECUTOR_H
#define CMRT_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cm_description {
    const char *executor; /* its name: static, executorch */
    const char *identity; /* of what it runs: a hash */
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

/* Makes the program ready; false if that cannot be. Called once, before all that follows. */
bool cm_executor_load(void);

/* Why loading or a run has failed, if the executor knows; else NULL. */
const char *cm_executor_error(void);

/* Where input `index` must be before a run. Outputs of the run before may be in the same memory. */
struct cm_buffer cm_executor_input(uint32_t index);

/* Where output `index` is after a run. */
struct cm_const_buffer cm_executor_output(uint32_t index);

/* The bytes at a place that the host names, such as an intermediate result; NULL if not all of them lie
   in the executor's arena or constants. */
const void *cm_executor_peek(uint32_t place, uint32_t bytes);

/* Called after each step with the time it took on the board's clock, 0 for one that a branch left out;
   false stops the run. */
typedef bool cm_step_hook(void *user, uint32_t step, uint64_t ticks);

/* Forgets what runs before have left in mutable buffers; to be called before the first run too. */
void cm_executor_reset(void);

/* Runs the program once; false if it failed or was stopped. */
bool cm_executor_run(cm_step_hook *hook, void *user);

/* Memory beside the arena that an executor allocates from: how much of it was in use at most. */
struct cm_pool_use {
    const char *name;
    uint32_t used, size;
};

/* Tells of the executor's pools; false if it has no more. */
bool cm_executor_pool(uint32_t index, struct cm_pool_use *use);

#ifdef __cplusplus
}
#endif

#endif
