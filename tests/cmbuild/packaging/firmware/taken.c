/* Rows of an output that go one by one are those of the expected output, and come in order. */
#include <stdio.h>
#include <string.h>

#include "seg.h"
#include "seg_vectors.h"

static SEG_ARENA(arena);

struct seen {
    const uint8_t *expected;
    uint32_t rows;
    int wrong;
};

static void take(void *user, uint32_t output, uint32_t row, const void *numbers)
{
    struct seen *seen = user;
    const size_t bytes = SEG_OUTPUT_0_BYTES / SEG_OUTPUT_0_ROWS;
    seen->wrong += output != 0 || row != seen->rows++;
    seen->wrong += memcmp(numbers, seen->expected + row * bytes, bytes) != 0;
}

int main(void)
{
    struct seg model;
    struct seen seen = {0};
    if (seg_init(&model, arena, sizeof arena) != SEG_OK)
        return 1;
    for (uint32_t sample = 0; sample < SEG_VECTORS; ++sample) {
        const float *rows = seg_vectors_input(0, sample);
        seen.expected = seg_vectors_output(0, sample);
        seen.rows = 0;
        seg_on_rows(&model, sample == 1 ? NULL : take, &seen);
        enum seg_status status = SEG_WAITING;
        for (uint32_t y = 0; y < SEG_INPUT_0_ROWS; ++y) {
            seen.wrong += status != SEG_WAITING;
            status = seg_push_rows_0(&model, rows + y * SEG_INPUT_0_ROW_COUNT, 1);
        }
        seen.wrong += status != SEG_OK || seen.rows != (sample == 1 ? 0 : SEG_OUTPUT_0_ROWS);
        seen.wrong += seg_vectors_check(&model, sample) >= 0;
    }
    printf("%d wrong\n", seen.wrong);
    return seen.wrong;
}
