/* `decode`: prints the messages on standard input in hexadecimal, one per line. `encode`: frames standard
   input as one message. */
#include <stdio.h>
#include <string.h>

#include "cmrt/frame.h"

static void put(uint8_t byte)
{
    putchar(byte);
}

static int encode(void)
{
    static uint8_t data[CM_FRAME_BYTES + 1];
    static struct cm_frame frame;
    size_t count = fread(data, 1, sizeof data, stdin);
    if (!cm_frame_add(&frame, data, (uint32_t)count))
        return 1;
    cm_frame_send(&frame, put);
    return 0;
}

static int decode(void)
{
    static struct cm_receiver receiver;
    for (int byte = getchar(); byte != EOF; byte = getchar()) {
        if (!cm_frame_receive(&receiver, (uint8_t)byte))
            continue;
        for (uint32_t i = 0; i < receiver.frame.length; ++i)
            printf("%02x", receiver.frame.data[i]);
        putchar('\n');
    }
    return 0;
}

int main(int count, char **words)
{
    return count == 2 && strcmp(words[1], "encode") == 0 ? encode() : decode();
}
