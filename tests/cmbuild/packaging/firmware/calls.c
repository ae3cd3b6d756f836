/* Every sequence of calls for a context, fed or not: each returns what it should, whatever came before, and
   leaves the state that it should. A second, smaller description of the interface says what should be.
   FED_STATE and WHOLE_STATE are where the arenas have the memory that outlives runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fed_vectors.h"
#include "whole_vectors.h"

#define SAMPLES 2u
#define KEPT FED_OUTPUT_1_COUNT / 2

static FED_ARENA(fed_arena);
static WHOLE_ARENA(whole_arena);

/* What a context should be. */
struct should {
    bool bound, begun;
    uint32_t first, second; /* rows of this run */
    uint32_t runs;          /* completed since the context was bound or reset */
    int8_t kept[KEPT];
    enum { GO_ON, STOP, STOP_AT_THE_END, RESET, BIND, UNBIND } in_hook; /* what the next hook does */
};

/* What a sequence can change. */
struct world {
    struct should should;
    struct fed fed;
    struct whole whole;
    uint8_t fed_memory[FED_ARENA_BYTES], whole_memory[WHOLE_ARENA_BYTES];
    int8_t rows[FED_OUTPUT_0_COUNT];
    uint32_t row;
};

static struct world now;
static struct fed fresh_fed;
static struct whole fresh_whole;
static bool ended_by_hook;
static unsigned long calls, wrong;

static void expect(bool holds, const char *what)
{
    if (!holds && ++wrong < 10)
        fprintf(stderr, "%s, runs %u, rows %u %u\n", what, now.should.runs, now.should.first,
                now.should.second);
}

static uint32_t sample(void)
{
    return now.should.runs % SAMPLES;
}

static void begin_again(void)
{
    now.should.begun = false;
    now.should.first = now.should.second = now.should.runs = now.row = 0;
    memset(now.should.kept, -7, sizeof now.should.kept);
}

static void fed_bind(void);
static void whole_bind(void);

static bool hook_of_fed(void *user, uint32_t op)
{
    (void)user;
    expect(fed_run(&now.fed) == FED_BUSY, "run in a hook");
    expect(fed_push_rows_0(&now.fed, fed_vectors_input(0, 0), 1) == FED_BUSY, "push in a hook");
    if (now.should.in_hook == GO_ON || (now.should.in_hook == STOP_AT_THE_END && op + 1 < FED_OPS))
        return true;
    ended_by_hook = true;
    const bool stops = now.should.in_hook == STOP || now.should.in_hook == STOP_AT_THE_END;
    if (now.should.in_hook == RESET)
        expect(fed_reset(&now.fed) == FED_OK, "reset in a hook");
    if (now.should.in_hook == BIND)
        fed_bind();
    if (now.should.in_hook == UNBIND) {
        expect(fed_init(&now.fed, NULL, 1) == FED_NO_ARENA, "init in a hook");
        now.should.bound = false;
    }
    now.should.in_hook = GO_ON;
    return !stops;
}

static bool hook_of_whole(void *user, uint32_t op)
{
    (void)user;
    expect(whole_run(&now.whole) == WHOLE_BUSY, "run in a hook");
    if (now.should.in_hook == GO_ON || (now.should.in_hook == STOP_AT_THE_END && op + 1 < WHOLE_OPS))
        return true;
    ended_by_hook = true;
    const bool stops = now.should.in_hook == STOP || now.should.in_hook == STOP_AT_THE_END;
    if (now.should.in_hook == RESET)
        expect(whole_reset(&now.whole) == WHOLE_OK, "reset in a hook");
    if (now.should.in_hook == BIND)
        whole_bind();
    if (now.should.in_hook == UNBIND) {
        expect(whole_init(&now.whole, NULL, 1) == WHOLE_NO_ARENA, "init in a hook");
        now.should.bound = false;
    }
    now.should.in_hook = GO_ON;
    return !stops;
}

static void take(void *user, uint32_t output, uint32_t row, const void *numbers)
{
    (void)user;
    expect(output == 0 && row == now.row && fed_run(&now.fed) == FED_BUSY, "a row that is handed out");
    memcpy(now.rows + row * FED_OUTPUT_0_ROW_COUNT, numbers, FED_OUTPUT_0_ROW_COUNT);
    ++now.row;
}

/* The state after a run that came to its end. */
static void complete(const int8_t *first, const int8_t *second, uint32_t number)
{
    const int8_t *wanted = fed_vectors_output(1, number);
    expect(memcmp(first, fed_vectors_output(0, number), FED_OUTPUT_0_BYTES) == 0, "the first output");
    expect(memcmp(second, wanted, KEPT) == 0, "the second output");
    expect(memcmp(second + KEPT, now.should.kept, KEPT) == 0, "what the run before left");
    memcpy(now.should.kept, wanted, KEPT);
    ++now.should.runs;
}

static void check_status(enum fed_status status, enum fed_status wanted, const char *what)
{
    if (ended_by_hook)
        begin_again();
    expect(status == (ended_by_hook ? FED_STOPPED : wanted), what);
    if (!now.should.begun && now.should.runs == 0 && now.should.bound)
        expect(memcmp(&now.fed, &fresh_fed, sizeof fresh_fed) == 0 &&
                   memcmp(fed_arena + FED_STATE, now.should.kept, KEPT) == 0,
               "a fresh context");
}

static void fed_bind(void)
{
    now.should.bound = true;
    expect(fed_init(&now.fed, fed_arena, sizeof fed_arena) == FED_OK, "init");
    fed_set_hook(&now.fed, hook_of_fed, NULL);
    fed_on_rows(&now.fed, take, NULL);
}

static void whole_bind(void)
{
    now.should.bound = true;
    expect(whole_init(&now.whole, whole_arena, sizeof whole_arena) == WHOLE_OK, "init");
    whole_set_hook(&now.whole, hook_of_whole, NULL);
}

static void fed_push_first(uint32_t count)
{
    const int8_t *rows = (const int8_t *)fed_vectors_input(0, sample());
    const uint32_t left = FED_INPUT_0_ROWS - now.should.first, taken = count < left ? count : left;
    rows += (left > 0 ? now.should.first : 0) * FED_INPUT_0_ROW_COUNT;
    const bool bound = now.should.bound;
    enum fed_status status = fed_push_rows_0(&now.fed, rows, taken);
    if (status == FED_WAITING && count > taken)
        status = fed_push_rows_0(&now.fed, rows, count - taken);
    now.should.begun = bound;
    now.should.first += bound ? taken : 0;
    check_status(status,
                 !bound          ? FED_NO_CONTEXT
                 : count > taken ? FED_OTHER_INPUT
                                 : FED_WAITING,
                 "push of the first input");
}

static void fed_push_second(void)
{
    const uint32_t number = sample();
    const int8_t *rows = (const int8_t *)fed_vectors_input(1, number);
    const bool bound = now.should.bound, due = bound && now.should.first == FED_INPUT_0_ROWS;
    const enum fed_status status = fed_push_rows_1(&now.fed, rows, FED_INPUT_1_ROWS);
    now.should.begun = bound;
    if (due && !ended_by_hook) {
        expect(now.row == FED_OUTPUT_0_ROWS, "rows handed out");
        complete(now.rows, fed_output_1(&now.fed), number);
        now.should.begun = false;
        now.should.first = now.row = 0;
    }
    check_status(status, due ? FED_OK : bound ? FED_OTHER_INPUT : FED_NO_CONTEXT, "push of the second input");
}

static void fed_restart(void)
{
    if (now.should.begun)
        begin_again();
    now.row = 0;
    const enum fed_status status = fed_run(&now.fed);
    now.should.begun = now.should.bound;
    check_status(status, now.should.bound ? FED_WAITING : FED_NO_CONTEXT, "run");
}

static void fed_call(unsigned call)
{
    switch (call) {
    case 0:
        fed_bind();
        begin_again();
        check_status(FED_OK, FED_OK, "init");
        break;
    case 1: {
        const enum fed_status status = fed_reset(&now.fed);
        begin_again();
        check_status(status, now.should.bound ? FED_OK : FED_NO_CONTEXT, "reset");
        break;
    }
    case 2:
        fed_restart();
        break;
    case 3:
        fed_push_first(1);
        break;
    case 4:
        fed_push_first(FED_INPUT_0_ROWS - 1);
        break;
    case 5:
        fed_push_second();
        break;
    case 6:
        check_status(fed_push_rows_0(&now.fed, NULL, 1), now.should.bound ? FED_NO_ROWS : FED_NO_CONTEXT,
                     "push of NULL");
        break;
    default:
        now.should.in_hook = STOP + call - 7;
    }
}

static void whole_call(unsigned call)
{
    const bool bound = now.should.bound || call == 0;
    enum whole_status status = WHOLE_OK;
    switch (call) {
    case 0:
        whole_bind();
        begin_again();
        break;
    case 1:
        status = whole_reset(&now.whole);
        begin_again();
        break;
    case 2: {
        const uint32_t number = sample();
        if (bound) {
            memcpy(whole_input_0(&now.whole), whole_vectors_input(0, number), WHOLE_INPUT_0_BYTES);
            memcpy(whole_input_1(&now.whole), whole_vectors_input(1, number), WHOLE_INPUT_1_BYTES);
        }
        status = whole_run(&now.whole);
        if (ended_by_hook)
            begin_again();
        else if (bound)
            complete(whole_output_0(&now.whole), whole_output_1(&now.whole), number);
        break;
    }
    case 3:
        status = whole_vectors_load(&now.whole, SAMPLES);
        expect(status == (bound ? WHOLE_NO_SAMPLE : WHOLE_NO_CONTEXT), "load");
        return;
    case 4:
        status = whole_vectors_load(&now.whole, 0);
        begin_again();
        break;
    default:
        now.should.in_hook = STOP + call - 5;
        return;
    }
    expect(status == (!bound ? WHOLE_NO_CONTEXT : ended_by_hook ? WHOLE_STOPPED : WHOLE_OK), "status");
    if (now.should.bound && now.should.runs == 0)
        expect(memcmp(&now.whole, &fresh_whole, sizeof fresh_whole) == 0 &&
                   memcmp(whole_arena + WHOLE_STATE, now.should.kept, KEPT) == 0,
               "a fresh context");
}

/* Makes all sequences of so many calls more. */
static void explore(void (*call)(unsigned), unsigned kinds, unsigned depth)
{
    struct world before = now;
    memcpy(before.fed_memory, fed_arena, sizeof fed_arena);
    memcpy(before.whole_memory, whole_arena, sizeof whole_arena);
    for (unsigned kind = 0; depth > 0 && kind < kinds; ++kind) {
        ended_by_hook = false;
        call(kind);
        ++calls;
        explore(call, kinds, depth - 1);
        now = before;
        memcpy(fed_arena, before.fed_memory, sizeof fed_arena);
        memcpy(whole_arena, before.whole_memory, sizeof whole_arena);
    }
}

int main(int count, char **words)
{
    const unsigned depth = count > 1 ? (unsigned)atoi(words[1]) : 6;
    /* All that a fresh context has, padding included. */
    memset(&now, 0xa5, sizeof now);
    memset(&now.should, 0, sizeof now.should);
    fresh_fed = now.fed, fresh_whole = now.whole;
    fed_init(&fresh_fed, fed_arena, sizeof fed_arena);
    fed_set_hook(&fresh_fed, hook_of_fed, NULL);
    fed_on_rows(&fresh_fed, take, NULL);
    whole_init(&fresh_whole, whole_arena, sizeof whole_arena);
    whole_set_hook(&fresh_whole, hook_of_whole, NULL);
    explore(fed_call, 12, depth);
    explore(whole_call, 10, depth);
    printf("%lu wrong of %lu\n", wrong, calls);
    return wrong != 0;
}
