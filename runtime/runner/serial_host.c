#include "cmrt/serial_host.h"

#include <string.h>

#include "cmrt/frame.h"
#include "cmrt/serial.h"

enum { CHUNK = 1024 }; /* bytes of a stream in one message */

/* A request is resent after this time; the host counts as lost after this many attempts. */
enum { PATIENCE_MILLISECONDS = 250, ATTEMPTS = 40 };

enum { HEADER_BYTES = 4 };

static struct {
    struct cm_frame request;
    struct cm_receiver answer;
    uint16_t number; /* of the request, different from all before: a fault may have interrupted one */
} line;

static void add(const void *data, uint32_t bytes)
{
    cm_frame_add(&line.request, data, bytes);
}

static void begin(uint8_t kind)
{
    ++line.number;
    const uint8_t header[HEADER_BYTES] = {
        CM_SERIAL_VERSION,
        kind,
        (uint8_t)line.number,
        (uint8_t)(line.number >> 8),
    };
    line.request.length = 0;
    add(header, sizeof header);
}

static bool is_answer(void)
{
    const struct cm_frame *frame = &line.answer.frame;
    return frame->length >= HEADER_BYTES && frame->data[0] == CM_SERIAL_VERSION &&
           frame->data[1] >= CM_SERIAL_DONE &&
           (frame->data[1] == CM_SERIAL_RESTART ||
            (frame->data[2] == line.request.data[2] && frame->data[3] == line.request.data[3]));
}

/* Whether the answer came in time. */
static bool is_answered(void)
{
    uint32_t start = cm_serial_milliseconds();
    while (cm_serial_milliseconds() - start < PATIENCE_MILLISECONDS) {
        uint8_t byte;
        if (cm_serial_receive(&byte) && cm_frame_receive(&line.answer, byte) && is_answer())
            return true;
    }
    return false;
}

/* Sends the request until it is answered; returns the kind of the answer. With `attempts` 0, for ever. */
static uint8_t ask(int attempts)
{
    for (int i = 0; attempts == 0 || i < attempts; ++i) {
        cm_frame_send(&line.request, cm_serial_send);
        if (is_answered()) {
            if (line.answer.frame.data[1] == CM_SERIAL_RESTART)
                break;
            return line.answer.frame.data[1];
        }
    }
    cm_serial_restart();
}

void cm_serial_greet(const char *text)
{
    line.number = UINT16_MAX; /* so that this one is 0 */
    begin(CM_SERIAL_GREETING);
    add(text, (uint32_t)strlen(text));
    ask(0);
}

static bool read_chunk(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    const uint8_t range[] = {
        (uint8_t)offset,         (uint8_t)(offset >> 8), (uint8_t)(offset >> 16),
        (uint8_t)(offset >> 24), (uint8_t)bytes,         (uint8_t)(bytes >> 8),
    };
    begin(CM_SERIAL_READ);
    add(range, sizeof range);
    add(name, (uint32_t)strlen(name));
    if (ask(ATTEMPTS) != CM_SERIAL_DATA || line.answer.frame.length != HEADER_BYTES + bytes)
        return false;
    memcpy(data, line.answer.frame.data + HEADER_BYTES, bytes);
    return true;
}

bool cm_serial_read(const char *name, uint32_t offset, void *data, uint32_t bytes)
{
    uint8_t *next = data;
    for (uint32_t done = 0; done < bytes; done += CHUNK) {
        uint32_t count = bytes - done < CHUNK ? bytes - done : CHUNK;
        if (!read_chunk(name, offset + done, next + done, count))
            return false;
    }
    return true;
}

bool cm_serial_append(const char *name, const void *data, uint32_t bytes)
{
    const uint8_t *next = data;
    const uint8_t length = (uint8_t)strlen(name);
    for (uint32_t done = 0; done < bytes; done += CHUNK) {
        uint32_t count = bytes - done < CHUNK ? bytes - done : CHUNK;
        begin(CM_SERIAL_APPEND);
        add(&length, 1);
        add(name, length);
        add(next + done, count);
        if (ask(ATTEMPTS) != CM_SERIAL_DONE)
            return false;
    }
    return true;
}

void cm_serial_print(const char *text)
{
    begin(CM_SERIAL_PRINT);
    add(text, (uint32_t)strlen(text));
    ask(ATTEMPTS);
}

void cm_serial_exit(int status)
{
    const uint8_t byte = (uint8_t)status;
    begin(CM_SERIAL_END);
    add(&byte, 1);
    ask(ATTEMPTS);
    cm_serial_restart();
}
