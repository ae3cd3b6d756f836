/* What each call returns in each state of its context: a line for each, `state<tab>call<tab>result`. The
   calls are in the order of harness/package_calls.py. */
#include <stdio.h>
#include <string.h>

#include "fed_vectors.h"
#include "whole_vectors.h"

static FED_ARENA(fed_arena);
static WHOLE_ARENA(whole_arena);
static struct fed fed;
static struct whole whole;

static const char *const states[] = {"null", "never", "failed", "ready", "waiting", "hook"};
enum state { NONE, NEVER, FAILED, READY, WAITS, HOOK };

enum { CALLS = 21 };
static unsigned call;
static const char *result;

static const char *plain(const char *name)
{
    return strchr(name, '_') + 1;
}

static const char *place(const void *pointer)
{
    return pointer != NULL ? "its place" : "NULL";
}

static const char *best(uint32_t index)
{
    return index == UINT32_MAX ? "UINT32_MAX" : "a class";
}

static const char *compared(int32_t found)
{
    return found == FED_VECTORS_UNCHECKED ? "UNCHECKED" : "compares";
}

static bool go_on(void *user, uint32_t op)
{
    (void)user, (void)op;
    return true;
}

static enum fed_status push(struct fed *model, uint32_t count)
{
    static int8_t rows[2 * FED_INPUT_0_COUNT];
    return fed_push_rows_0(model, rows, count);
}

/* For the last rows of a run and more: those of the other input, with those of the first before. */
static enum fed_status push_end(struct fed *model, uint32_t count)
{
    static int8_t rows[2 * FED_INPUT_1_COUNT];
    const enum fed_status status =
        push(model, FED_INPUT_0_ROWS - (model == &fed && fed.stage != 0 ? 1u : 0u));
    return status == FED_WAITING ? fed_push_rows_1(model, rows, count) : status;
}

static void perform(enum state state)
{
    struct fed *f = state == NONE ? NULL : &fed;
    struct whole *w = state == NONE ? NULL : &whole;
    switch (call) {
    case 0:
        result = plain(fed_status_name(fed_init(f, fed_arena, sizeof fed_arena)));
        break;
    case 1:
        result = plain(fed_status_name(fed_init(f, NULL, 0)));
        break;
    case 2:
        result = plain(fed_status_name(fed_init(f, fed_arena, FED_ARENA_BYTES - 1)));
        break;
    case 3:
        result = plain(fed_status_name(fed_init(f, fed_arena + 8, FED_ARENA_BYTES)));
        break;
    case 4:
        result = plain(fed_status_name(fed_reset(f)));
        break;
    case 5:
        result = plain(fed_status_name(fed_set_hook(f, go_on, NULL)));
        break;
    case 6:
        result = plain(fed_status_name(fed_on_rows(f, NULL, NULL)));
        break;
    case 7:
        result = state == WAITS ? "–" : plain(whole_status_name(whole_run(w)));
        break;
    case 8:
        result = plain(fed_status_name(fed_run(f)));
        break;
    case 9:
        result = plain(fed_status_name(push(f, 1)));
        break;
    case 10:
        result = state == READY ? "–" : plain(fed_status_name(push_end(f, FED_INPUT_1_ROWS)));
        break;
    case 11:
        result = plain(fed_status_name(push_end(f, FED_INPUT_1_ROWS + 1)));
        break;
    case 12:
        result = plain(fed_status_name(fed_push_rows_1(f, fed_vectors_input(1, 0), 1)));
        break;
    case 13:
        result = plain(fed_status_name(fed_push_rows_0(f, NULL, 1)));
        break;
    case 14:
        result = state == WAITS ? "–" : place(whole_input_0(w));
        break;
    case 15:
        result = place(fed_output_1(f));
        break;
    case 16:
        result = best(fed_output_1_class(f));
        break;
    case 17:
        result = plain(fed_status_name(fed_vectors_load(f, 0)));
        break;
    case 18:
        result = plain(fed_status_name(fed_vectors_load(f, FED_VECTORS)));
        break;
    case 19:
        result = compared(fed_vectors_check(f, 0));
        break;
    default:
        result = compared(fed_vectors_check(f, FED_VECTORS));
    }
}

static bool in_hook(void *user, uint32_t op)
{
    (void)user, (void)op;
    if (result == NULL)
        perform(HOOK);
    return true;
}

/* Brings both contexts into a state; in a hook the call is made at once. */
static void enter(enum state state)
{
    memset(&fed, 0xa5, sizeof fed);
    memset(&whole, 0xa5, sizeof whole);
    result = NULL;
    if (state <= NEVER)
        return;
    fed_init(&fed, fed_arena, state == FAILED ? 1 : sizeof fed_arena);
    whole_init(&whole, whole_arena, state == FAILED ? 1 : sizeof whole_arena);
    if (state == WAITS)
        push(&fed, 1);
    if (state != HOOK)
        return;
    if (call == 7 || call == 14) {
        whole_set_hook(&whole, in_hook, NULL);
        whole_run(&whole);
    } else {
        fed_set_hook(&fed, in_hook, NULL);
        push(&fed, FED_INPUT_0_ROWS);
    }
}

int main(void)
{
    for (unsigned state = NONE; state <= HOOK; ++state)
        for (call = 0; call < CALLS; ++call) {
            enter((enum state)state);
            if (state != HOOK)
                perform((enum state)state);
            printf("%s\t%u\t%s\n", states[state], call, result);
        }
    const bool outside = fed_vectors_input(FED_INPUT_0_COUNT, 0) != NULL ||
                         fed_vectors_input(0, FED_VECTORS) != NULL || fed_vectors_output(9, 0) != NULL ||
                         fed_vectors_output(0, FED_VECTORS) != NULL || fed_op_name(FED_OPS) != NULL;
    return outside;
}
