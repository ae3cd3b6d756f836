/* Adds numbers with a quantised network: how an application uses its model. */
#include <stdio.h>
#include <string.h>

#include "cmrt/board.h"
#include "cmrt/executor.h"
#include "cmrt/host.h"
#include "model_io.h"

enum { COUNT = CM_MODEL_INPUT_0_COUNT };

static bool go_on(void *user, uint32_t step, uint64_t ticks)
{
    (void)user, (void)step, (void)ticks;
    return true;
}

/* `-1.25`, as not every printf can print floats. */
static void write_number(char *text, size_t size, float number)
{
    int hundredths = (int)(number * 100 + (number < 0 ? -0.5f : 0.5f));
    int whole = hundredths < 0 ? -hundredths : hundredths;
    snprintf(text, size, "%s%d.%02d", hundredths < 0 ? "-" : "", whole / 100, whole % 100);
}

int cm_main(void)
{
    static const float x[COUNT] = {1, 2.5f, -3, 7}, y[COUNT] = {2, -1.5f, -4, 0.5f};
    cm_executor_reset();
    memcpy(cm_executor_input(0).data, x, sizeof x);
    memcpy(cm_executor_input(1).data, y, sizeof y);
    if (!cm_executor_run(go_on, NULL))
        return 1;
    float sum[COUNT];
    memcpy(sum, cm_executor_output(0).data, sizeof sum);
    for (int i = 0; i < COUNT; ++i) {
        char line[64], numbers[3][16];
        write_number(numbers[0], sizeof numbers[0], x[i]);
        write_number(numbers[1], sizeof numbers[1], y[i]);
        write_number(numbers[2], sizeof numbers[2], sum[i]);
        snprintf(line, sizeof line, "%s + %s = %s\n", numbers[0], numbers[1], numbers[2]);
        cm_host_print(line);
    }
    return 0;
}
