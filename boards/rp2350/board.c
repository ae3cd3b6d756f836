/* Raspberry Pi Pico 2, and QEMU's musca-b1, which runs the same images. */
#include "cmrt/board.h"

#include <string.h>

#include "chip.h"
#include "cmrt/checksum.h"
#include "cmrt/cmsdk_timer.h"
#include "cmrt/host.h"
#include "cmrt/semihosting.h"
#include "cmrt/serial_host.h"
#include "cmrt/text.h"

/* CMSDK TIMER0 of the Musca-B1 by its secure alias (Musca-B1 TRM, "Memory map"). */
static struct cm_cmsdk_timer *const timer = (struct cm_cmsdk_timer *)0x50000000;
static struct cm_clock clock;

static bool is_real;

void cm_board_init(void)
{
    is_real = chip_is_there();
    if (is_real)
        chip_start();
    else
        cm_cmsdk_timer_start(timer, &clock);
}

/* Called around every step, so a step that exceeds the watchdog's time is a hang. */
uint64_t cm_board_ticks(void)
{
    if (!is_real)
        return cm_cmsdk_timer_ticks(timer, &clock);
    chip_feed_watchdog();
    return chip_cycles();
}

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
    if (is_real)
        greet(text);
    else
        cm_semihosting_print(text);
}

bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    return is_real ? cm_serial_read(name, offset, data, bytes)
                   : cm_semihosting_read(name, offset, data, bytes);
}

bool cm_host_append(const char *name, const void *data, uint32_t bytes)
{
    return is_real ? cm_serial_append(name, data, bytes) : cm_semihosting_append(name, data, bytes);
}

void cm_host_print(const char *text)
{
    if (is_real)
        cm_serial_print(text);
    else
        cm_semihosting_print(text);
}

void cm_host_exit(int status)
{
    if (is_real)
        cm_serial_exit(status);
    cm_semihosting_exit(status);
}
