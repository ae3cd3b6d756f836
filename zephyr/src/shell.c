/* The shell command `cmbuild`: the models, and the time of each op. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/shell/shell.h>

#include "cmbuild/models.h"
#include "cmrt/board.h"

static int show_info(const struct shell *shell, size_t count, char **words)
{
    ARG_UNUSED(count);
    ARG_UNUSED(words);
    shell_print(shell, "kernels for %s", CONFIG_CMBUILD_ISA);
    for (const struct cmbuild_model *model = cmbuild_models; model->name != NULL; ++model) {
        const struct cm_program *program = model->program;
        shell_print(shell, "%s: %u inputs, %u outputs, %u ops, arena %u bytes, %u test vectors, identity %s",
                    model->name, (unsigned int)program->input_count, (unsigned int)program->output_count,
                    (unsigned int)program->step_count, (unsigned int)program->arena_bytes,
                    (unsigned int)model->vectors->samples, program->identity);
    }
    return 0;
}

/* A run that prints the ticks of each op. */
struct timed_run {
    const struct shell *shell;
    const struct cmbuild_model *model;
    uint64_t last;
};

static bool show_step(void *user, uint32_t step)
{
    struct timed_run *run = user;
    unsigned long ticks = (unsigned long)(cm_board_ticks() - run->last);
    shell_print(run->shell, "%4u %10lu  %s", (unsigned int)step, ticks, run->model->op_name(step));
    run->last = cm_board_ticks();
    return true;
}

/* The first output that differs from the expected one, or -1. */
static int32_t run_on_sample(struct timed_run *timed, const struct cm_context *memory, uint32_t sample)
{
    const struct cm_program *program = timed->model->program;
    const struct cm_vectors *vectors = timed->model->vectors;
    struct cm_run run = {0};
    cm_reset_states(memory, program->states, program->state_count);
    cm_vectors_write(vectors, memory, program->inputs, sample);
    timed->last = cm_board_ticks();
    int32_t wrong = -1;
    while (cm_run_program(memory, program, &run, show_step, timed) == CM_WAITING)
        if (!cm_vectors_exchange(vectors, &run.wait, sample) && wrong < 0)
            wrong = (int32_t)run.wait.port;
    return wrong >= 0 ? wrong : cm_vectors_differ(vectors, memory, program->outputs, sample);
}

/* cmbuild run [MODEL] [SAMPLE]: the ticks of each op, and whether the outputs are correct. */
static int run_sample(const struct shell *shell, size_t count, char **words)
{
    const struct cmbuild_model *model = cmbuild_models;
    while (count > 1 && model->name != NULL && strcmp(model->name, words[1]) != 0)
        ++model;
    if (model->name == NULL) {
        shell_error(shell, "no model is called %s", words[1]);
        return -EINVAL;
    }
    unsigned long sample = count > 2 ? strtoul(words[2], NULL, 10) : 0;
    if (sample >= model->vectors->samples) {
        shell_error(shell, "there are %u test vectors", (unsigned int)model->vectors->samples);
        return -EINVAL;
    }
    const struct cm_context memory = {cmbuild_shell_arena, model->program->constants};
    struct timed_run run = {shell, model, 0};
    int32_t wrong = run_on_sample(&run, &memory, (uint32_t)sample);
    if (wrong >= 0) {
        shell_error(shell, "output %d differs from the reference", (int)wrong);
        return -EIO;
    }
    shell_print(shell, "outputs equal the reference");
    return 0;
}

SHELL_STATIC_SUBCMD_SET_CREATE(cmbuild_commands, SHELL_CMD(info, NULL, "Show the models.", show_info),
                               SHELL_CMD_ARG(run, NULL,
                                             "Run a test vector and time its ops: run [MODEL] [SAMPLE]",
                                             run_sample, 1, 2),
                               SHELL_SUBCMD_SET_END);
SHELL_CMD_REGISTER(cmbuild, &cmbuild_commands, "Models planned by cmbuild.", NULL);
