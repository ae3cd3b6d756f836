/* The shell command `cmbuild`: the model, and the time of each op. */
#include <errno.h>
#include <stdlib.h>

#include <zephyr/kernel.h>
#include <zephyr/shell/shell.h>

#include "cmrt/board.h"
#include "cmrt/executor.h"
#include "cmrt/vectors.h"

static int show_info(const struct shell *shell, size_t count, char **words)
{
    ARG_UNUSED(count);
    ARG_UNUSED(words);
    struct cm_description model = cm_executor_describe();
    shell_print(shell, "identity %s, executor %s, kernels for %s", model.identity, model.executor,
                CONFIG_CMBUILD_ISA);
    shell_print(shell, "%u inputs, %u outputs, %u ops, arena %u bytes, %u test vectors",
                (unsigned int)model.input_count, (unsigned int)model.output_count,
                (unsigned int)model.step_count, (unsigned int)model.arena_bytes,
                (unsigned int)cm_model_vectors.samples);
    return 0;
}

static bool show_step(void *user, uint32_t step, uint64_t ticks)
{
    shell_print(user, "%4u %10lu  %s", (unsigned int)step, (unsigned long)ticks, cm_model_titles[step]);
    return true;
}

/* cmbuild run [SAMPLE]: the ticks of each op, and whether the outputs are correct. */
static int run_sample(const struct shell *shell, size_t count, char **words)
{
    unsigned long sample = count > 1 ? strtoul(words[1], NULL, 10) : 0;
    if (sample >= cm_model_vectors.samples) {
        shell_error(shell, "there are %u test vectors", (unsigned int)cm_model_vectors.samples);
        return -EINVAL;
    }
    cm_vectors_load((uint32_t)sample);
    /* shell_print takes a non-const shell, through the hook's plain pointer. */
    if (!cm_executor_run(show_step, (void *)(uintptr_t)shell)) {
        shell_error(shell, "the executor failed");
        return -EIO;
    }
    int32_t wrong = cm_vectors_check((uint32_t)sample);
    if (wrong >= 0) {
        shell_error(shell, "output %d differs from the reference", (int)wrong);
        return -EIO;
    }
    shell_print(shell, "outputs equal the reference");
    return 0;
}

SHELL_STATIC_SUBCMD_SET_CREATE(cmbuild_commands, SHELL_CMD(info, NULL, "Show the model.", show_info),
                               SHELL_CMD_ARG(run, NULL, "Run a test vector and time its ops: run [SAMPLE]",
                                             run_sample, 1, 1),
                               SHELL_SUBCMD_SET_END);
SHELL_CMD_REGISTER(cmbuild, &cmbuild_commands, "The model that cmbuild planned.", NULL);
