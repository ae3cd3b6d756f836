// Rows in pieces, from C++: every way to cut them gives the outputs that the whole input gives.
#include <cstdio>

#include "fed.h"
#include "fed_vectors.h"

static FED_ARENA(arena);

int main()
{
    struct fed model;
    int wrong = 0;
    if (fed_init(&model, arena, sizeof arena) != FED_OK)
        return 1;
    for (uint32_t sample = 0; sample < FED_VECTORS; ++sample) {
        const float *rows = static_cast<const float *>(fed_vectors_input(0, sample));
        for (uint32_t piece = 1; piece <= FED_INPUT_0_ROWS; ++piece) {
            enum fed_status status = FED_WAITING;
            for (uint32_t at = 0; at < FED_INPUT_0_ROWS; at += piece) {
                uint32_t left = FED_INPUT_0_ROWS - at;
                wrong += status != FED_WAITING;
                status =
                    fed_push_rows_0(&model, rows + at * FED_INPUT_0_ROW_COUNT, left < piece ? left : piece);
            }
            wrong += status != FED_OK || fed_vectors_check(&model, sample) >= 0;
        }
        wrong += fed_push_rows_0(&model, rows, FED_INPUT_0_ROWS - 1) != FED_WAITING;
        wrong += fed_run(&model) != FED_WAITING; // starts anew
        wrong += fed_push_rows_0(&model, rows, FED_INPUT_0_ROWS) != FED_OK;
        wrong += fed_vectors_check(&model, sample) >= 0;
    }
    std::printf("%d wrong\n", wrong);
    return wrong;
}
