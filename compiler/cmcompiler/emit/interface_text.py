"""Templates of NAME.h and NAME.c: see cmcompiler.emit.interface."""

from __future__ import annotations

HEADER = """\
/* {name}: a neural network planned by cmbuild for kernels in {isa}.
 *
{example}
 *
 * MEMORY. The caller owns the context and the arena: {macro}_ARENA_BYTES bytes, aligned to 16,
 * which hold inputs, outputs and everything between. Both live as long as the model is used.
 * Nothing is allocated, and nothing else is written. Pointers to inputs and outputs are aligned to
 * 16 and stay the same until the next {name}_init.
{memory} *
 * THREADS AND INTERRUPTS. There is no global state. Every function may be called from any thread
 * and from an interrupt, even while it runs elsewhere for another context with another arena. Calls
 * for one context, or for contexts with the same arena, must not overlap: an interrupt must not use
 * a context or arena that it may have interrupted. An interrupt that runs a model needs enough
 * stack, and the core to save floating-point and vector registers, as it does by default.
 *
 * MISTAKES. A call that cannot be done returns why. In a hook, {name}_reset and {name}_init end the
 * run, which then returns {macro}_STOPPED; other calls that would change the run return
 * {macro}_BUSY. A context that {name}_init has not bound is recognised, whatever is in it.
 */
#ifndef {macro}_H
#define {macro}_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Of program and plan: equal for equal results. */
#define {macro}_IDENTITY "{identity}"

/* What the kernels have to be: weights are packed for them. */
#define {macro}_ISA_{isa_macro} 1

#define {macro}_ARENA_BYTES {arena_bytes}
size_t {name}_arena_bytes(void);

/* Declares an arena: static {macro}_ARENA(arena); */
#define {macro}_ARENA(arena) uint8_t arena[{macro}_ARENA_BYTES] __attribute__((aligned(16)))

enum {name}_status {{
{ok_enumerators}
    {macro}_NO_CONTEXT,       /* the context is NULL, or {name}_init has not succeeded */
    {macro}_NO_ARENA,         /* the arena is NULL */
    {macro}_ARENA_TOO_SMALL,  /* less than {macro}_ARENA_BYTES */
    {macro}_ARENA_MISALIGNED, /* not to 16 bytes */
    {macro}_BUSY,             /* a run is under way: the call comes from its hook */
    {macro}_NO_SAMPLE,        /* there is no such test vector */
{waiting}    {macro}_STOPPED           /* by the hook */
}};

/* `{macro}_OK`: the name of a status, for messages. */
const char *{name}_status_name(enum {name}_status status);

/* Called after each op; returning false stops the run. Ops that are computed in turns, a few rows
 * of each, are reported when all of them are complete. */
#define {macro}_OPS {steps}
typedef bool {name}_hook(void *user, uint32_t op);

/* `conv2d 3×3`: the name of an op; NULL if there is no such op. */
const char *{name}_op_name(uint32_t op);

{taking_type}/* A context; its members are the implementation's. */
struct {name} {{
    const void *program;
    uint8_t *arena;
    {name}_hook *hook;
    void *user;
    bool busy;
{progress}}};

/* Binds a context to an arena and resets it, without hooks. If that fails, the context is not bound
 * to any. If {name}.c was compiled with {macro}_STATIC_ARENA, an arena of NULL with 0 bytes stands
 * for one that belongs to {name}.c. */
enum {name}_status {name}_init(struct {name} *model, void *arena, size_t bytes);

/* Forgets earlier runs, and one that is under way: state returns to its initial value, as it does
 * whenever a run is not completed. */
enum {name}_status {name}_reset(struct {name} *model);

/* Sets the hook of later runs; NULL for none, as after {name}_init. */
enum {name}_status {name}_set_hook(struct {name} *model, {name}_hook *hook, void *user);

/* Computes the outputs from the inputs.{run_note} */
enum {name}_status {name}_run(struct {name} *model);

/* INPUTS AND OUTPUTS. NULL before {name}_init has succeeded. */

{taking}{ports}

{labels}#ifdef __cplusplus
}}
#endif

#endif
"""

SOURCE = """\
/* {name}: what {name}.h declares. */
#include "{name}.h"

{includes}#include "cmrt/program.h"
#include "{name}_plan.h"

#ifdef {macro}_STATIC_ARENA
/* For builds that place it in a memory of their own. */
#ifndef {macro}_ARENA_ATTRIBUTES
#define {macro}_ARENA_ATTRIBUTES
#endif
static {macro}_ARENA_ATTRIBUTES {macro}_ARENA({name}_static_arena);
#endif

/* The state between runs. */
static void settle(struct {name} *model)
{{
    model->busy = false;
{settle_progress}}}

/* For cm_run_program: calls the hook of a context, and stops a run that this has ended. */
static bool call_hook(void *user, uint32_t op)
{{
    struct {name} *model = user;
    return (model->hook == NULL || model->hook(model->user, op)) && model->busy;
}}

size_t {name}_arena_bytes(void)
{{
    return {macro}_ARENA_BYTES;
}}

enum {name}_status {name}_init(struct {name} *model, void *arena, size_t bytes)
{{
    if (model == NULL)
        return {macro}_NO_CONTEXT;
    settle(model);
    model->program = NULL;
    model->arena = NULL;
    model->hook = NULL;
    model->user = NULL;
{reset_takers}#ifdef {macro}_STATIC_ARENA
    if (arena == NULL && bytes == 0) {{
        arena = {name}_static_arena;
        bytes = sizeof {name}_static_arena;
    }}
#endif
    if (arena == NULL)
        return {macro}_NO_ARENA;
    if (bytes < {macro}_ARENA_BYTES)
        return {macro}_ARENA_TOO_SMALL;
    if ((uintptr_t)arena % 16 != 0)
        return {macro}_ARENA_MISALIGNED;
    model->program = &{name}_program;
    model->arena = arena;
    return {name}_reset(model);
}}

enum {name}_status {name}_reset(struct {name} *model)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    settle(model);
    const struct cm_context memory = {{model->arena, {name}_program.constants}};
    cm_reset_states(&memory, {name}_program.states, {name}_program.state_count);
    return {ok};
}}

enum {name}_status {name}_set_hook(struct {name} *model, {name}_hook *hook, void *user)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    model->hook = hook;
    model->user = user;
    return {ok};
}}

{run}
const char *{name}_status_name(enum {name}_status status)
{{
    switch (status) {{
    case {ok}:
        return "{macro}_OK";
    case {macro}_NO_CONTEXT:
        return "{macro}_NO_CONTEXT";
    case {macro}_NO_ARENA:
        return "{macro}_NO_ARENA";
    case {macro}_ARENA_TOO_SMALL:
        return "{macro}_ARENA_TOO_SMALL";
    case {macro}_ARENA_MISALIGNED:
        return "{macro}_ARENA_MISALIGNED";
    case {macro}_BUSY:
        return "{macro}_BUSY";
    case {macro}_NO_SAMPLE:
        return "{macro}_NO_SAMPLE";
{waiting_names}    case {macro}_STOPPED:
        return "{macro}_STOPPED";
    default:
        return "unknown";
    }}
}}
{titles}
const char *{name}_op_name(uint32_t op)
{{
{op_name}    return NULL;
}}

{ports}"""

HOOK_TABLE = """\
    if (op < {macro}_OPS)
        return titles[op];
"""

RUN = """\
enum {name}_status {name}_run(struct {name} *model)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    if (model->busy)
        return {macro}_BUSY;
    const struct cm_context memory = {{model->arena, {name}_program.constants}};
    struct cm_run run = {{0}};
    model->busy = true;
    enum cm_outcome outcome = cm_run_program(&memory, &{name}_program, &run, call_hook, model);
    if (!model->busy)
        return {macro}_STOPPED;
    model->busy = false;
    if (outcome == CM_DONE)
        return {ok};
    {name}_reset(model);
    return {macro}_STOPPED;
}}
"""

# Statuses of models with inputs that come row by row.
FED_STATUSES = """\
    {macro}_WAITING,          /* the run goes on when {name}_push_rows_... brings rows */
    {macro}_OTHER_INPUT,      /* it waits for rows of another input; those before were taken */
    {macro}_TOO_MANY_ROWS,    /* the run was complete before the last of them, its outputs right */
    {macro}_NO_ROWS,          /* the rows are NULL */
"""

FED_NAMES = """\
    case {macro}_WAITING:
        return "{macro}_WAITING";
    case {macro}_OTHER_INPUT:
        return "{macro}_OTHER_INPUT";
    case {macro}_TOO_MANY_ROWS:
        return "{macro}_TOO_MANY_ROWS";
    case {macro}_NO_ROWS:
        return "{macro}_NO_ROWS";
"""

FED_PROGRESS = """\
    uint32_t step, stage, port, row, row_bytes, more, lap, round, turn;
    void *into;
"""

# Callback type of models with outputs that go row by row.
TAKING_TYPE = """\
/* Takes row `row` of output `output`, which are not kept: they come in their order. */
typedef void {name}_rows_hook(void *user, uint32_t output, uint32_t row, const void *numbers);

"""

TAKING_FIELDS = """\
    {name}_rows_hook *take;
    void *taker;
"""

TAKING_DECLARATION = """\
/* Sets who takes the rows of outputs that go row by row; NULL for nobody, as after {name}_init. */
enum {name}_status {name}_on_rows(struct {name} *model, {name}_rows_hook *take, void *user);

"""

TAKING = """\
enum {name}_status {name}_on_rows(struct {name} *model, {name}_rows_hook *take, void *user)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    model->take = take;
    model->taker = user;
    return {ok};
}}

"""

FED_RUN_NOTE = """ This restarts a run that waits for rows, and
 * returns {macro}_WAITING until {name}_push_rows_... has brought all rows."""

FED_SETTLE = """\
    model->step = model->stage = model->port = model->row = model->row_bytes = model->more = 0;
    model->lap = model->round = model->turn = 0;
    model->into = NULL;
"""

FED_RUN = """\
/* As far as the rows that there are allow. */
static enum {name}_status go_on(struct {name} *model)
{{
    const struct cm_context memory = {{model->arena, {name}_program.constants}};
    const struct cm_wait wait = {{
        .stage = model->stage,
        .port = model->port,
        .row = model->row,
        .bytes = model->row_bytes,
        .more = model->more,
        .into = model->into,
        .place = {{model->lap, model->round, model->turn}},
    }};
    struct cm_run run = {{model->step, wait}};
    model->busy = true;
    enum cm_outcome outcome = cm_run_program(&memory, &{name}_program, &run, call_hook, model);
{taking}    if (!model->busy)
        return {macro}_STOPPED;
    settle(model);
{waiting}    if (outcome == CM_DONE)
        return {ok};
    {name}_reset(model);
    return {macro}_STOPPED;
}}

enum {name}_status {name}_run(struct {name} *model)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    if (model->busy)
        return {macro}_BUSY;
    if (model->stage != 0)
        {name}_reset(model);
    return go_on(model);
}}
"""

FED_WAIT = """\
    if (outcome == CM_WAITING) {{
        model->step = run.step;
        model->stage = run.wait.stage;
        model->port = run.wait.port;
        model->row = run.wait.row;
        model->row_bytes = run.wait.bytes;
        model->more = run.wait.more;
        model->lap = run.wait.place.lap;
        model->round = run.wait.place.round;
        model->turn = run.wait.place.turn;
        model->into = run.wait.into;
        return {macro}_WAITING;
    }}
"""

FED_TAKE = """\
    while (outcome == CM_WAITING && run.wait.from != NULL) {{
        if (model->take != NULL)
            model->take(model->taker, run.wait.port, run.wait.row, run.wait.from);
        if (!model->busy)
            break;
        outcome = cm_run_program(&memory, &{name}_program, &run, call_hook, model);
    }}
"""

FED_PUSH = """
static enum {name}_status push(struct {name} *model, uint32_t input, const void *rows,
                               uint32_t count)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    if (model->busy)
        return {macro}_BUSY;
    if (rows == NULL && count > 0)
        return {macro}_NO_ROWS;
    const uint8_t *row = rows;
    enum {name}_status status = model->stage == 0 ? go_on(model) : {macro}_WAITING;
    for (; count > 0 && status == {macro}_WAITING; --count) {{
        if (model->port != input)
            return {macro}_OTHER_INPUT;
        memcpy(model->into, row, model->row_bytes);
        row += model->row_bytes;
        status = go_on(model);
    }}
    return count > 0 && status == {ok} ? {macro}_TOO_MANY_ROWS : status;
}}
"""
