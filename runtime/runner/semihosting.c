/* See "Semihosting for AArch32 and AArch64" (Arm). */
#include "cmrt/semihosting.h"

#include <string.h>

enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_SEEK = 0x0a,
    SYS_FLEN = 0x0c,
    SYS_EXIT_EXTENDED = 0x20,
};
enum { MODE_READ = 1 /* "rb" */, MODE_APPEND = 9 /* "ab" */ };
enum { ADP_STOPPED_APPLICATION_EXIT = 0x20026 };

static intptr_t call(uintptr_t operation, const void *parameters)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameters;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (intptr_t)r0;
}

static intptr_t open(const char *name, uintptr_t mode)
{
    uintptr_t parameters[] = {(uintptr_t)name, mode, strlen(name)};
    return call(SYS_OPEN, parameters);
}

static void close(intptr_t file)
{
    call(SYS_CLOSE, &file);
}

static bool seek(intptr_t file, uintptr_t offset)
{
    uintptr_t parameters[] = {(uintptr_t)file, offset};
    return call(SYS_SEEK, parameters) == 0;
}

/* SYS_READ and SYS_WRITE return the number of bytes that were not transferred. */
static bool transfer(uintptr_t operation, intptr_t file, const void *data, uint32_t bytes)
{
    uintptr_t parameters[] = {(uintptr_t)file, (uintptr_t)data, bytes};
    return bytes == 0 || call(operation, parameters) == 0;
}

bool cm_semihosting_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    intptr_t file = open(name, MODE_READ);
    if (file < 0)
        return false;
    bool read = seek(file, offset) && transfer(SYS_READ, file, data, bytes);
    close(file);
    return read;
}

bool cm_semihosting_append(const char *name, const void *data, uint32_t bytes)
{
    intptr_t file = open(name, MODE_APPEND);
    if (file < 0)
        return false;
    /* QEMU 7.2 forgets that the file is open for appending. */
    intptr_t end = call(SYS_FLEN, &file);
    bool written = end >= 0 && seek(file, (uintptr_t)end) && transfer(SYS_WRITE, file, data, bytes);
    close(file);
    return written;
}

void cm_semihosting_print(const char *text)
{
    call(SYS_WRITE0, text);
}

void cm_semihosting_exit(int status)
{
    uintptr_t parameters[] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)status};
    for (;;)
        call(SYS_EXIT_EXTENDED, parameters);
}
