/* Quantised inputs and outputs, through the functions that convert them. */
#include <stdio.h>

#include "small.h"

static SMALL_ARENA(arena);

int main(void)
{
    struct small model;
    int wrong = small_init(&model, arena, sizeof arena) != SMALL_OK;
    for (int step = -128; step < 128; ++step) {
        wrong += small_input_0_quantize(small_input_0_dequantize((int8_t)step)) != step;
        wrong += small_output_0_quantize(small_output_0_dequantize((int8_t)step)) != step;
    }
    wrong += small_input_0_quantize(1e30f) != 127 || small_input_0_quantize(-1e30f) != -128;
    for (uint32_t i = 0; i < SMALL_INPUT_0_COUNT; ++i)
        small_input_0(&model)[i] = small_input_0_quantize(0.5f);
    wrong += small_run(&model) != SMALL_OK;
    printf("%d wrong, %.2f\n", wrong, (double)small_output_0_dequantize(small_output_0(&model)[0]));
    return wrong;
}
