/* A planned program: an ordered list of kernel calls over one arena and one block of constants. */
#ifndef CMRT_PROGRAM_H
#define CMRT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* A place in memory, relative to a base: constants if the top bit is set, else the arena. */
typedef uint32_t cm_ref;
#define CM_REF_CONSTANT UINT32_C(0x80000000)
/* An absent optional operand. */
#define CM_REF_NONE UINT32_C(0xffffffff)

/* The two bases. Both are aligned to 16 bytes and readable for CM_SLACK bytes past their end, because vector
   loads may overrun the last row. */
struct cm_context {
    uint8_t *arena;
    const uint8_t *constants;
};
#define CM_SLACK 64

static inline const void *cm_read(const struct cm_context *context, cm_ref ref)
{
    if ((ref & CM_REF_CONSTANT) != 0)
        return context->constants + (ref & ~CM_REF_CONSTANT);
    return context->arena + ref;
}

static inline void *cm_write(const struct cm_context *context, cm_ref ref)
{
    return context->arena + ref;
}

/* The call of a kernel. Spatial kernels compute the output rows [y0, y1); others compute whole tensors and
   ignore both. */
struct cm_call {
    const void *arguments; /* the kernel's own struct of 32-bit fields */
    int32_t y0, y1;
};
typedef void cm_kernel(const struct cm_context *context, const struct cm_call *call);

/* A kernel call; or, if `run` is NULL, a branch with a struct cm_branch as its arguments. */
struct cm_step {
    cm_kernel *run;
    struct cm_call call;
};

/* Skips the next `count` steps unless the bool at `condition` is as expected. */
struct cm_branch {
    cm_ref condition;
    uint32_t expected, count;
};

/* Performs a step; returns how many of the following steps to skip. */
static inline uint32_t cm_run_step(const struct cm_context *context, const struct cm_step *step)
{
    if (step->run != NULL) {
        step->run(context, &step->call);
        return 0;
    }
    const struct cm_branch *branch = step->call.arguments;
    const uint8_t *condition = cm_read(context, branch->condition);
    return (*condition != 0) == (branch->expected != 0) ? 0 : branch->count;
}

/* An input or output in memory. */
struct cm_port {
    cm_ref data;
    uint32_t bytes;
};

/* Memory that keeps its content from one run to the next. */
struct cm_state {
    cm_ref data;
    cm_ref initial; /* its content after a reset; CM_REF_NONE for zeros */
    uint32_t bytes;
};

/* Resets all state; must be called before the first run, and before any run that starts from the initial
 * state. */
void cm_reset_states(const struct cm_context *context, const struct cm_state *states, uint32_t count);

struct cm_program {
    const struct cm_step *steps;
    uint32_t step_count;
    const struct cm_port *inputs;
    uint32_t input_count;
    const struct cm_port *outputs;
    uint32_t output_count;
    const struct cm_state *states;
    uint32_t state_count;
    const uint8_t *constants;
    uint32_t constant_bytes;
    uint32_t arena_bytes; /* slack included */
    const char *identity; /* hash of program and plan */
};

#endif
