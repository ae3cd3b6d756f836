/* A planned program: an ordered list of kernel calls over one arena and one block of constants. */
#ifndef CMRT_PROGRAM_H
#define CMRT_PROGRAM_H

#include <stdbool.h>
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
    const void *arguments; /* the kernel's own struct; its fields fill words of 32 bits */
    int32_t y0, y1;
};
typedef void cm_kernel(const struct cm_context *context, const struct cm_call *call);

/* A kernel call; or, if `run` is NULL, what steers the steps that follow: its arguments begin with an enum
   cm_control. */
struct cm_step {
    cm_kernel *run;
    struct cm_call call;
};
enum cm_control { CM_BRANCH, CM_STREAM, CM_FEED, CM_DRAIN, CM_TILES, CM_FEED_AGAIN };

/* Skips the next `count` steps unless the bool at `condition` is as expected. */
struct cm_branch {
    uint32_t control;
    cm_ref condition;
    uint32_t expected, count;
};

/* A step of a stream: makes rows of an image, from y0 to y1 of its call. */
struct cm_stage {
    uint8_t band;    /* rows at once */
    uint8_t moves;   /* how many its list has */
    uint8_t words;   /* of the kernel's arguments, if some of them move along */
    uint8_t counted; /* the argument that grows with the rows of a call, if some move along, or 0 */
    uint32_t list;   /* struct cm_move: words from the start of cm_row_stream */
};

/* Turns of stages, one after the other, and how often. */
struct cm_lap {
    uint16_t turns, rounds;
    uint8_t stages[]; /* filled up to words */
};

/* An argument that is the place of row 0, in a ring of rows. To compute row y, the kernel gets that of row
   (y * factor + shift) / divisor. A stage with such arguments computes one row a call; or, if one is
   `counted`, as many as follow each other in all rings. */
struct cm_move {
    uint16_t place; /* from the low bits on: its index in 6, the factor in 5, the divisor in 5 */
    int16_t shift;
    uint16_t ring, stride;
};
#define CM_MOVED_WORDS 48

/* How far a stage has come. */
struct cm_progress {
    int32_t rows;
    uint32_t ticks[2]; /* low and high half: words need less room */
};

static inline uint64_t cm_progress_ticks(const struct cm_progress *progress)
{
    return (uint64_t)progress->ticks[1] << 32 | progress->ticks[0];
}

/* Runs the next `count` steps in turns, in an order that makes rows when another one takes them. In an upward
   stream the first row of each step is its last one, and so on. */
struct cm_row_stream {
    uint32_t control;
    uint16_t count, upward;
    cm_ref progress;           /* `count` struct cm_progress */
    uint32_t order, order_end; /* struct cm_lap, one after the other: words from the start */
    struct cm_stage stages[];
};

/* A stage without a kernel: its rows are those of an input, which come from outside, or of an output, which
   go there, one at a time. */
struct cm_feed {
    uint32_t control;
    uint32_t port;
    cm_ref rows; /* a ring of them */
    uint32_t row_bytes, ring;
};

/* A feed of some columns of each row: the input is read more than once. */
struct cm_feed_again {
    struct cm_feed feed;
    uint32_t stride, first; /* bytes of a row of the input, and those before the columns */
};

/* A word of arguments that depends on the tile: the first tile's is in the step's own. */
struct cm_patch {
    uint32_t word; /* its index */
    uint32_t second, step, last;
};

/* One call for each tile. For rows [y, end) of the run, which may begin above the first one, it makes the
   rows from y * factor + low to (end - 1) * factor + high; those outside of [y0, y1) of its step do not
   count. */
struct cm_tiled {
    uint8_t words, patches;
    int16_t factor, low, high;
    struct cm_patch patch[];
};

/* A stage without a kernel of its own: a run of steps that follow it, which make its rows in tiles of
   columns, one after the other. What they hand on to each other is scratch. */
struct cm_tiles {
    uint32_t control;
    cm_ref scratch;
    cm_ref kept;   /* from turn to turn; CM_REF_NONE if it keeps nothing */
    uint32_t band; /* rows at once */
    uint16_t calls, tiles;
    /* followed by as many struct cm_tiled as calls */
};

/* Where a stream stands in its order. */
struct cm_place {
    uint32_t lap; /* words from the start of cm_row_stream */
    uint32_t round, turn;
};

/* The row that a step waits for: one of an input to be written, or one of an output to be taken. */
struct cm_wait {
    uint32_t stage; /* 1 and its number; 0: the step waits for nothing */
    uint32_t port;  /* of inputs or outputs */
    uint32_t row;   /* they come and go in order */
    uint32_t bytes;
    uint32_t offset;  /* of these in the input or output */
    uint32_t more;    /* rows of the same input that are wanted right after it */
    void *into;       /* where an input's row goes, or NULL */
    const void *from; /* where an output's row is, or NULL */
    struct cm_place place;
};

/* Calls the kernel of a stage. */
typedef void cm_turn(void *user, const struct cm_step *stage, const struct cm_call *call,
                     struct cm_progress *progress);

/* The stream that a step is; NULL if it is none. */
static inline const struct cm_row_stream *cm_row_stream_of(const struct cm_step *step)
{
    const struct cm_row_stream *stream = step->call.arguments;
    return step->run == NULL && stream->control == CM_STREAM ? stream : NULL;
}

/* Performs a step, whose stages follow it if it is a stream; returns how many of the following steps to
   skip. If it waits for a row in the end, write or take that and call it again with the same `wait`, which
   is zero at first. */
uint32_t cm_run_step(const struct cm_context *context, const struct cm_step *step, cm_turn *turn, void *user,
                     struct cm_wait *wait);

/* The next rows of a run, a stage of a stream. Only images whose models have one link it. */
typedef void cm_tiler(const struct cm_step *run, struct cm_progress *progress, cm_turn *turn, void *user);
cm_tiler cm_take_tiles;

/* An input or output in memory. */
struct cm_port {
    cm_ref data; /* CM_REF_NONE for one that comes or goes row by row */
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

/* Called after each step; returning false stops the run. */
typedef bool cm_program_hook(void *user, uint32_t step);

/* How far a run has come; zero at first. */
struct cm_run {
    uint32_t step;
    struct cm_wait wait;
};
enum cm_outcome { CM_DONE, CM_WAITING, CM_STOPPED };

/* Runs a program. If it waits for a row in the end, write or take that and call it again with the same `run`.
   The hook may be NULL; if it stops the run, that is over. */
enum cm_outcome cm_run_program(const struct cm_context *context, const struct cm_program *program,
                               struct cm_run *run, cm_program_hook *hook, void *user);

#endif
