/* Two tasks of FreeRTOS: one takes sound from the driver, the other listens for words, with the
 * package that `cmbuild package keywords --target cortex-m4 --output-dir keywords_c` writes. */
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "keywords.h"

enum { STACK_WORDS = 1024 }; /* keywords.h says how many bytes a run takes */

/* Yours: waits for the next 20 ms of sound; false if there is no more. What to do with a score. */
int next_frame(float *bands);
void heard(const float *scores);

static KEYWORDS_ARENA(arena);
static struct keywords model;
static float frame[KEYWORDS_INPUT_FRAME_COUNT];

static StackType_t stacks[2][STACK_WORDS];
static StaticTask_t memory[2];
static TaskHandle_t listener, recorder;

static void listen(void *unused)
{
    (void)unused;
    if (keywords_init(&model, arena, sizeof arena) != KEYWORDS_OK)
        vTaskDelete(NULL);
    keywords_reset(&model);
    for (;;) {
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        memcpy(keywords_input_frame(&model), frame, sizeof frame);
        xTaskNotifyGive(recorder); /* the frame may be overwritten */
        if (keywords_run(&model) == KEYWORDS_OK)
            heard(keywords_output_0(&model));
    }
}

static void record(void *unused)
{
    (void)unused;
    while (next_frame(frame)) {
        xTaskNotifyGive(listener);
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    }
    vTaskEndScheduler();
}

int main(void)
{
    listener = xTaskCreateStatic(listen, "listen", STACK_WORDS, NULL, 1, stacks[0], &memory[0]);
    recorder = xTaskCreateStatic(record, "record", STACK_WORDS, NULL, 2, stacks[1], &memory[1]);
    vTaskStartScheduler();
    return 0;
}
