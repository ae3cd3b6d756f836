/* Adds numbers with a quantised network: how an application uses its model. */
#include <stdio.h>
#include <string.h>

#include "cmbuild/arena.h"
#include "cmrt/board.h"
#include "cmrt/host.h"
#include "hello.h"

enum { COUNT = HELLO_INPUT_0_COUNT };

static CMBUILD_ARENA HELLO_ARENA(arena);
static struct hello model;

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
    if (hello_init(&model, arena, sizeof arena) != HELLO_OK)
        return 1;
    memcpy(hello_input_0(&model), x, sizeof x);
    memcpy(hello_input_1(&model), y, sizeof y);
    if (hello_run(&model) != HELLO_OK)
        return 1;
    const float *sum = hello_output_0(&model);
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
