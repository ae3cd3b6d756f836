/* This computer as a board: streams are files in the current folder. */
#include "cmrt/board.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmrt/host.h"

void cm_board_init(void)
{
}

uint64_t cm_board_ticks(void)
{
    return 0;
}

struct cm_stack cm_board_stack(void)
{
    return (struct cm_stack){0, 0};
}

struct cm_workspace cm_board_workspace(void)
{
    static uint8_t workspace[64 << 20];
    return (struct cm_workspace){workspace, workspace + sizeof workspace};
}

void cm_host_greet(const char *text)
{
    cm_host_print(text);
}

bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        return false;
    bool read = fseek(file, (long)offset, SEEK_SET) == 0 && fread(data, 1, bytes, file) == bytes;
    fclose(file);
    return read;
}

bool cm_host_append(const char *name, const void *data, uint32_t bytes)
{
    FILE *file = fopen(name, "ab");
    if (file == NULL)
        return false;
    bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written;
}

void cm_host_print(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

void cm_host_exit(int status)
{
    exit(status);
}

int main(void)
{
    cm_board_init();
    cm_finish(cm_main());
}
