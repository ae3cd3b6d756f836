/* The functions of cmrt/host.h for a board's image that also runs in a simulator: by the serial line on the
   chip, by semihosting elsewhere. Included once, by board.c, whose cm_board_init sets cm_is_chip. */
#ifndef CMRT_CHIP_OR_SIMULATOR_H
#define CMRT_CHIP_OR_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cmrt/board.h"
#include "cmrt/checksum.h"
#include "cmrt/host.h"
#include "cmrt/semihosting.h"
#include "cmrt/serial_host.h"
#include "cmrt/text.h"

static bool cm_is_chip;

/* The checksum of flash tells this image from others of the same model. */
static void greet(const char *text)
{
    struct cm_code code = cm_board_code();
    struct cm_text image;
    char both[2 * CM_TEXT_BYTES]; /* lines of cm_text, each */
    cm_text_begin(&image, "image");
    cm_text_number(&image, code.bytes);
    cm_text_number(&image, cm_checksum(code.begin, code.bytes));
    const char *line = cm_text_end(&image);
    size_t length = strlen(text);
    memcpy(both, text, length);
    memcpy(both + length, line, strlen(line) + 1);
    cm_serial_greet(both);
}

void cm_host_greet(const char *text)
{
    if (cm_is_chip)
        greet(text);
    else
        cm_semihosting_print(text);
}

bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    return cm_is_chip ? cm_serial_read(name, offset, data, bytes)
                      : cm_semihosting_read(name, offset, data, bytes);
}

bool cm_host_append(const char *name, const void *data, uint32_t bytes)
{
    return cm_is_chip ? cm_serial_append(name, data, bytes) : cm_semihosting_append(name, data, bytes);
}

void cm_host_print(const char *text)
{
    if (cm_is_chip)
        cm_serial_print(text);
    else
        cm_semihosting_print(text);
}

void cm_host_exit(int status)
{
    if (cm_is_chip)
        cm_serial_exit(status);
    cm_semihosting_exit(status);
}

#endif
