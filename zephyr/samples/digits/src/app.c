/* Recognises handwritten digits stored in flash, and prints the accuracy. */
#include <stdio.h>

#include "cmbuild/arena.h"
#include "cmrt/board.h"
#include "cmrt/host.h"
#include "digits_vectors.h"

static CMBUILD_ARENA DIGITS_ARENA(arena);
static struct digits model;

static int32_t best_class(void)
{
    const float *scores = digits_output_0(&model);
    int32_t best = 0;
    for (int32_t i = 1; i < DIGITS_OUTPUT_0_COUNT; ++i)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int cm_main(void)
{
    uint32_t right = 0, labelled = 0, wrong = 0;
    uint64_t ticks = 0;
    if (digits_init(&model, arena, sizeof arena) != DIGITS_OK)
        return 1;
    for (uint32_t sample = 0; sample < DIGITS_VECTORS; ++sample) {
        if (digits_vectors_load(&model, sample) != DIGITS_OK)
            return 1;
        uint64_t start = cm_board_ticks();
        if (digits_run(&model) != DIGITS_OK)
            return 1;
        ticks += cm_board_ticks() - start;
        if (digits_vectors_check(&model, sample) >= 0)
            ++wrong;
        int32_t label = digits_vectors_label(sample);
        if (label >= 0) {
            ++labelled;
            right += best_class() == label;
        }
    }
    char line[96];
    snprintf(line, sizeof line, "accuracy: %u of %u digits\n", (unsigned int)right, (unsigned int)labelled);
    cm_host_print(line);
    snprintf(line, sizeof line, "verified: %u of %u equal to the reference\n",
             (unsigned int)(DIGITS_VECTORS - wrong), (unsigned int)DIGITS_VECTORS);
    cm_host_print(line);
    snprintf(line, sizeof line, "time: %lu ticks a digit\n", (unsigned long)(ticks / DIGITS_VECTORS));
    cm_host_print(line);
    return wrong == 0 ? 0 : 1;
}
