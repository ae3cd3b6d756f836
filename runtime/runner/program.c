/* A program as a function of its memory: no clock, no state of its own. */
#include "cmrt/program.h"

static void take_turn(void *user, const struct cm_step *stage, const struct cm_call *call,
                      struct cm_progress *progress)
{
    const struct cm_context *context = user;
    (void)progress;
    stage->run(context, call);
}

enum cm_outcome cm_run_program(const struct cm_context *context, const struct cm_program *program,
                               struct cm_run *run, cm_program_hook *hook, void *user)
{
    struct cm_context memory = *context;
    while (run->step < program->step_count) {
        const struct cm_step *step = &program->steps[run->step];
        uint32_t skipped = cm_run_step(&memory, step, take_turn, &memory, &run->wait);
        if (run->wait.stage != 0)
            return CM_WAITING;
        for (uint32_t end = run->step + skipped + 1; run->step < end; ++run->step) {
            if (hook != NULL && !hook(user, run->step))
                return CM_STOPPED;
        }
    }
    return CM_DONE;
}
