/* The host interface over semihosting: streams are files. */
#ifndef CMRT_SEMIHOSTING_H
#define CMRT_SEMIHOSTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

/* As the functions of cmrt/host.h. */
bool cm_semihosting_read(const char *name, uint32_t offset, void *data, uint32_t bytes);
bool cm_semihosting_append(const char *name, const void *data, uint32_t bytes);
void cm_semihosting_print(const char *text);
noreturn void cm_semihosting_exit(int status);

#endif
