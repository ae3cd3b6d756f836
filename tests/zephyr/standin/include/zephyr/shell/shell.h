#pragma once
#include <stddef.h>

struct shell;
typedef int (*shell_cmd_handler)(const struct shell *shell, size_t argc, char **argv);
struct shell_static_entry {
    const char *syntax, *help;
    const struct shell_static_entry *subcmd;
    shell_cmd_handler handler;
    unsigned char mandatory, optional;
};

__attribute__((format(printf, 2, 3))) void shell_fprintf(const struct shell *shell, const char *format, ...);
#define shell_print(shell, ...) shell_fprintf(shell, __VA_ARGS__)
#define shell_error(shell, ...) shell_fprintf(shell, __VA_ARGS__)

#define SHELL_CMD_ARG(name, subcommands, text, function, needed, more)                                       \
    {#name, text, subcommands, function, needed, more}
#define SHELL_CMD(name, subcommands, text, function) SHELL_CMD_ARG(name, subcommands, text, function, 0, 0)
#define SHELL_SUBCMD_SET_END {NULL, NULL, NULL, NULL, 0, 0}
#define SHELL_STATIC_SUBCMD_SET_CREATE(name, ...)                                                            \
    static const struct shell_static_entry name[] = {__VA_ARGS__}
#define SHELL_CMD_REGISTER(name, subcommands, text, function)                                                \
    extern const struct shell_static_entry shell_##name;                                                     \
    __attribute__((used)) const struct shell_static_entry shell_##name =                                     \
        SHELL_CMD(name, *(subcommands), text, function)
