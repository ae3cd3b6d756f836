/* Two models in four tasks and an interrupt, each with a context of its own, on FreeRTOS. */
#include "FreeRTOS.h"
#include "task.h"

#include "cmrt/board.h"
#include "cmrt/text.h"
#include "gestures.h"
#include "gestures_vectors.h"
#include "kws.h"
#include "kws_vectors.h"

enum { ROUNDS = 60, STACK = 1024, INTERRUPT = 31 };

static volatile uint32_t *const mpu_control = (volatile uint32_t *)0xe000ed94;
static volatile uint32_t *const nvic_enable = (volatile uint32_t *)0xe000e100;
static volatile uint32_t *const nvic_pend = (volatile uint32_t *)0xe000e200;
static volatile uint8_t *const nvic_priority = (volatile uint8_t *)0xe000e400;

static volatile uint32_t wrong, ended, interrupts, interrupted, switches;
static const void *volatile running;

static void count_wrong(bool right)
{
    if (!right) {
        taskENTER_CRITICAL();
        wrong = wrong + 1;
        taskEXIT_CRITICAL();
    }
}

/* In the middle of a run: another task may have run meanwhile. */
static bool watch(void *user, uint32_t op)
{
    (void)op;
    if (running != user) {
        taskENTER_CRITICAL();
        switches = switches + 1;
        taskEXIT_CRITICAL();
    }
    running = user;
    return true;
}

static void say(const char *name, uint32_t number)
{
    struct cm_text text;
    cm_text_begin(&text, name);
    cm_text_number(&text, number);
    cm_text_send(&text);
}

static void end(void)
{
    taskENTER_CRITICAL();
    uint32_t count = ended + 1;
    ended = count;
    taskEXIT_CRITICAL();
    if (count < 4)
        vTaskDelete(NULL);
    taskENTER_CRITICAL();
    say("wrong", wrong);
    say("interrupts", interrupts);
    say("switches", switches);
    cm_finish(wrong == 0 && interrupts > 0 && switches > 0 ? 0 : 1);
}

struct listener {
    struct kws model;
    uint8_t arena[KWS_ARENA_BYTES] __attribute__((aligned(16)));
    StaticTask_t task;
    StackType_t stack[STACK];
};

struct watcher {
    struct gestures model;
    uint8_t arena[GESTURES_ARENA_BYTES] __attribute__((aligned(16)));
    StaticTask_t task;
    StackType_t stack[STACK];
};

static struct listener listeners[2];
static struct watcher watchers[2], handler;

static void listen(void *argument)
{
    struct listener *own = argument;
    count_wrong(kws_init(&own->model, own->arena, sizeof own->arena) == KWS_OK);
    count_wrong(kws_set_hook(&own->model, watch, own) == KWS_OK);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        uint32_t sample = (round + (own == listeners)) % KWS_VECTORS;
        count_wrong(kws_vectors_load(&own->model, sample) == KWS_OK);
        count_wrong(kws_run(&own->model) == KWS_OK);
        count_wrong(kws_vectors_check(&own->model, sample) < 0);
        if (round % 16 == 0)
            vTaskDelay(1);
    }
    end();
}

static void watch_gestures(void *argument)
{
    struct watcher *own = argument;
    count_wrong(gestures_init(&own->model, own->arena, sizeof own->arena) == GESTURES_OK);
    count_wrong(gestures_set_hook(&own->model, watch, own) == GESTURES_OK);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        uint32_t sample = (round + (own == watchers)) % GESTURES_VECTORS;
        count_wrong(gestures_vectors_load(&own->model, sample) == GESTURES_OK);
        count_wrong(gestures_run(&own->model) == GESTURES_OK);
        count_wrong(gestures_vectors_check(&own->model, sample) < 0);
    }
    end();
}

/* External interrupt 31, which the tick makes pending. */
void handle(void);
void handle(void)
{
    uint32_t sample = interrupts % GESTURES_VECTORS;
    bool right = gestures_vectors_load(&handler.model, sample) == GESTURES_OK;
    right = gestures_run(&handler.model) == GESTURES_OK && right;
    right = gestures_vectors_check(&handler.model, sample) < 0 && right;
    UBaseType_t mask = taskENTER_CRITICAL_FROM_ISR();
    wrong = wrong + (right ? 0 : 1);
    taskEXIT_CRITICAL_FROM_ISR(mask);
    interrupts = interrupts + 1;
}

void vApplicationTickHook(void)
{
    *nvic_pend = UINT32_C(1) << INTERRUPT;
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    report_broken(__FILE__, __LINE__);
}

void report_broken(const char *file, unsigned long line)
{
    (void)file;
    say("broken", (uint32_t)line);
    cm_finish(1);
}

int cm_main(void)
{
    if (gestures_init(&handler.model, handler.arena, sizeof handler.arena) != GESTURES_OK)
        return 1;
    *mpu_control =
        0; /* the kernel reads the vectors, at 0 on some boards: this start-up traps null pointers */
    nvic_priority[INTERRUPT] = configKERNEL_INTERRUPT_PRIORITY;
    *nvic_enable = UINT32_C(1) << INTERRUPT;
    for (int each = 0; each < 2; ++each) {
        struct listener *listener = &listeners[each];
        struct watcher *watcher = &watchers[each];
        xTaskCreateStatic(listen, "kws", STACK, listener, 1, listener->stack, &listener->task);
        xTaskCreateStatic(watch_gestures, "gestures", STACK, watcher, 1, watcher->stack, &watcher->task);
    }
    vTaskStartScheduler();
    return 1;
}
