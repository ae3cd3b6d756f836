/* The default host interface: semihosting. */
#include "cmrt/host.h"
#include "cmrt/semihosting.h"

void cm_host_greet(const char *text)
{
    cm_semihosting_print(text);
}

bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    return cm_semihosting_read(name, offset, data, bytes);
}

bool cm_host_append(const char *name, const void *data, uint32_t bytes)
{
    return cm_semihosting_append(name, data, bytes);
}

void cm_host_print(const char *text)
{
    cm_semihosting_print(text);
}

void cm_host_exit(int status)
{
    cm_semihosting_exit(status);
}
