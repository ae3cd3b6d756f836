/* The host of a board that only has a serial line. */
#ifndef SERIAL_HOST_H
#define SERIAL_HOST_H

#include "cmrt/host.h"
#include "cmrt/serial_host.h"

void cm_host_greet(const char *text)
{
    cm_serial_greet(text);
}

bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    return cm_serial_read(name, offset, data, bytes);
}

bool cm_host_append(const char *name, const void *data, uint32_t bytes)
{
    return cm_serial_append(name, data, bytes);
}

void cm_host_print(const char *text)
{
    cm_serial_print(text);
}

void cm_host_exit(int status)
{
    cm_serial_exit(status);
}

#endif
