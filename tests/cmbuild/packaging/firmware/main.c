/* Two models and two instances of one, in turns and while an interrupt runs the other. */
#include <string.h>

#include "cmrt/board.h"
#include "cmrt/host.h"
#include "cmrt/text.h"
#include "gestures.h"
#include "gestures_vectors.h"
#include "kws.h"
#include "kws_vectors.h"

enum { ROUNDS = 20, PAUSE = 3000 };

static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010; /* CSR, RVR, CVR */

static KWS_ARENA(kws_arena);
static KWS_ARENA(kws_other_arena);
static GESTURES_ARENA(gestures_arena);
static struct kws kws, kws_other;
static struct gestures gestures;

static volatile bool inside;
static volatile uint32_t interrupts, interrupted, wrong;

void tick(void);
void tick(void)
{
    uint32_t sample = interrupts % GESTURES_VECTORS;
    systick[0] = 0;
    interrupted = interrupted + (inside ? 1 : 0);
    gestures_vectors_load(&gestures, sample);
    if (gestures_run(&gestures) != GESTURES_OK || gestures_vectors_check(&gestures, sample) >= 0)
        wrong = wrong + 1;
    interrupts = interrupts + 1;
    if (interrupts < ROUNDS) {
        systick[2] = 0;
        systick[0] = 7;
    }
}

static void check(bool right)
{
    wrong = wrong + (right ? 0 : 1);
}

static void check_arguments(void)
{
    static uint8_t bytes[KWS_ARENA_BYTES + 1] __attribute__((aligned(16)));
    struct kws model;
    check(kws_init(NULL, bytes, sizeof bytes) == KWS_NO_CONTEXT);
    check(kws_init(&model, NULL, 0) == KWS_NO_ARENA);
    check(kws_run(&model) == KWS_NO_CONTEXT && kws_vectors_load(&model, 0) == KWS_NO_CONTEXT);
    check(kws_init(&model, bytes, KWS_ARENA_BYTES - 1) == KWS_ARENA_TOO_SMALL);
    check(kws_init(&model, bytes + 1, KWS_ARENA_BYTES) == KWS_ARENA_MISALIGNED);
    check(kws_arena_bytes() == KWS_ARENA_BYTES);
    check(strcmp(kws_status_name(KWS_ARENA_TOO_SMALL), "KWS_ARENA_TOO_SMALL") == 0);
    check(kws_op_name(0) != NULL && kws_op_name(KWS_OPS) == NULL);
}

static bool stop_at_second(void *user, uint32_t op)
{
    uint32_t *calls = user;
    ++*calls;
    return op < 1;
}

static void check_hook(void)
{
    uint32_t calls = 0;
    check(kws_set_hook(&kws, stop_at_second, &calls) == KWS_OK);
    check(kws_run(&kws) == KWS_STOPPED && calls == 2);
    check(kws_set_hook(&kws, NULL, NULL) == KWS_OK);
}

static void say(const char *name, uint32_t number)
{
    struct cm_text text;
    cm_text_begin(&text, name);
    cm_text_number(&text, number);
    cm_text_send(&text);
}

int cm_main(void)
{
    check_arguments();
    check(kws_init(&kws, kws_arena, sizeof kws_arena) == KWS_OK);
    check(kws_init(&kws_other, kws_other_arena, sizeof kws_other_arena) == KWS_OK);
    check(gestures_init(&gestures, gestures_arena, sizeof gestures_arena) == GESTURES_OK);
    check_hook();

    for (uint32_t sample = 0; sample + 1 < KWS_VECTORS; ++sample) {
        check(kws_vectors_load(&kws, sample) == KWS_OK);
        check(kws_vectors_load(&kws_other, sample + 1) == KWS_OK);
        check(kws_run(&kws_other) == KWS_OK && kws_run(&kws) == KWS_OK);
        check(kws_vectors_check(&kws, sample) < 0 && kws_vectors_check(&kws_other, sample + 1) < 0);
    }

    systick[1] = PAUSE;
    systick[2] = 0;
    systick[0] = 7;
    __asm volatile("cpsie i");
    uint32_t runs = 0;
    for (; interrupts < ROUNDS; ++runs) {
        uint32_t sample = runs % KWS_VECTORS;
        check(kws_vectors_load(&kws, sample) == KWS_OK);
        inside = true;
        check(kws_run(&kws) == KWS_OK);
        inside = false;
        check(kws_vectors_check(&kws, sample) < 0);
    }
    __asm volatile("cpsid i");
    say("interrupts", interrupts);
    say("wrong", wrong);
    return wrong == 0 && interrupted > 0 ? 0 : 1;
}
