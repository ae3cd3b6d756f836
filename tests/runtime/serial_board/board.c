/* This computer as a board on a serial line: the terminal named by $CMRT_SERIAL. */
#define _POSIX_C_SOURCE 200809L

#include "cmrt/board.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../serial_host.h"
#include "cmrt/serial.h"

enum { RESTARTED = 3, UNPLUGGED = 4 };

static int line = -1;
static uint8_t pending[4096]; /* sent in one go, like a hardware queue */
static size_t pending_bytes;

static void flush(void)
{
    for (size_t done = 0; done < pending_bytes;) {
        ssize_t count = write(line, pending + done, pending_bytes - done);
        if (count <= 0)
            _exit(UNPLUGGED);
        done += (size_t)count;
    }
    pending_bytes = 0;
}

void cm_serial_send(uint8_t byte)
{
    pending[pending_bytes++] = byte;
    if (pending_bytes == sizeof pending)
        flush();
}

bool cm_serial_receive(uint8_t *byte)
{
    flush();
    struct pollfd wait = {.fd = line, .events = POLLIN};
    if (poll(&wait, 1, 10) <= 0)
        return false;
    if (read(line, byte, 1) != 1)
        _exit(UNPLUGGED);
    return true;
}

uint32_t cm_serial_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void cm_serial_restart(void)
{
    _exit(RESTARTED);
}

void cm_board_init(void)
{
    const char *name = getenv("CMRT_SERIAL");
    line = name == NULL ? -1 : open(name, O_RDWR | O_NOCTTY);
    if (line < 0)
        _exit(UNPLUGGED);
}

uint64_t cm_board_ticks(void)
{
    return 0;
}

struct cm_stack cm_board_stack(void)
{
    return (struct cm_stack){.used = 100, .size = 200};
}

struct cm_workspace cm_board_workspace(void)
{
    return (struct cm_workspace){NULL, NULL};
}

int main(void)
{
    cm_board_init();
    cm_finish(cm_main());
}
