/* Recognises handwritten digits stored in flash, and prints the accuracy. */
#include <stdio.h>
#include <string.h>

#include "cmrt/board.h"
#include "cmrt/executor.h"
#include "cmrt/host.h"
#include "cmrt/vectors.h"
#include "model_io.h"

enum { CLASSES = CM_MODEL_OUTPUT_0_COUNT };

static bool add_ticks(void *user, uint32_t step, uint64_t ticks)
{
    (void)step;
    *(uint64_t *)user += ticks;
    return true;
}

static int32_t best_class(void)
{
    float scores[CLASSES];
    memcpy(scores, cm_executor_output(0).data, sizeof scores);
    int32_t best = 0;
    for (int32_t i = 1; i < CLASSES; ++i)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int cm_main(void)
{
    uint32_t right = 0, labelled = 0, wrong = 0;
    uint64_t ticks = 0;
    for (uint32_t sample = 0; sample < cm_model_vectors.samples; ++sample) {
        cm_vectors_load(sample);
        if (!cm_executor_run(add_ticks, &ticks))
            return 1;
        if (cm_vectors_check(sample) >= 0)
            ++wrong;
        int32_t label = cm_model_vectors.labels == NULL ? -1 : cm_model_vectors.labels[sample];
        if (label >= 0) {
            ++labelled;
            right += best_class() == label;
        }
    }
    char line[96];
    snprintf(line, sizeof line, "accuracy: %u of %u digits\n", (unsigned int)right, (unsigned int)labelled);
    cm_host_print(line);
    snprintf(line, sizeof line, "verified: %u of %u equal to the reference\n",
             (unsigned int)(cm_model_vectors.samples - wrong), (unsigned int)cm_model_vectors.samples);
    cm_host_print(line);
    snprintf(line, sizeof line, "time: %lu ticks a digit\n",
             (unsigned long)(ticks / (cm_model_vectors.samples > 0 ? cm_model_vectors.samples : 1)));
    cm_host_print(line);
    return wrong == 0 ? 0 : 1;
}
