#include "cmrt/frame.h"

#include <string.h>

#include "cmrt/checksum.h"

enum { CHECKSUM_BYTES = 4, LONGEST_BLOCK = 254 };

bool cm_frame_add(struct cm_frame *frame, const void *data, uint32_t bytes)
{
    if (bytes > CM_FRAME_BYTES - frame->length)
        return false;
    if (bytes > 0)
        memcpy(frame->data + frame->length, data, bytes);
    frame->length += bytes;
    return true;
}

static void put_checksum(uint8_t *place, uint32_t checksum)
{
    for (int i = 0; i < CHECKSUM_BYTES; ++i)
        place[i] = (uint8_t)(checksum >> (8 * i));
}

void cm_frame_send(struct cm_frame *frame, void (*put)(uint8_t byte))
{
    put_checksum(frame->data + frame->length, cm_checksum(frame->data, frame->length));
    uint32_t end = frame->length + CHECKSUM_BYTES;
    put(0); /* ends any noise before it */
    /* A block is a count and the bytes up to a zero, which is omitted, or 254 bytes without a zero. The end
     * counts as a zero. */
    uint32_t zero = 1;
    for (uint32_t start = 0; start < end + zero;) {
        uint32_t length = 0;
        while (start + length < end && length < LONGEST_BLOCK && frame->data[start + length] != 0)
            ++length;
        put((uint8_t)(length + 1));
        for (uint32_t i = 0; i < length; ++i)
            put(frame->data[start + i]);
        zero = length < LONGEST_BLOCK;
        start += length + zero;
    }
    put(0);
}

static void append(struct cm_receiver *receiver, uint8_t byte)
{
    struct cm_frame *frame = &receiver->frame;
    if (frame->length < CM_FRAME_ROOM)
        frame->data[frame->length++] = byte;
    else
        receiver->is_broken = true;
}

static bool is_whole(struct cm_receiver *receiver)
{
    struct cm_frame *frame = &receiver->frame;
    /* Between two zeros the buffer still holds the previous message, whose body may itself end with a
     * checksum. */
    if (receiver->is_fresh || receiver->is_broken || receiver->left != 0 || frame->length < CHECKSUM_BYTES)
        return false;
    frame->length -= CHECKSUM_BYTES;
    uint8_t checksum[CHECKSUM_BYTES];
    put_checksum(checksum, cm_checksum(frame->data, frame->length));
    return memcmp(checksum, frame->data + frame->length, sizeof checksum) == 0;
}

static void begin(struct cm_receiver *receiver)
{
    receiver->frame.length = 0;
    receiver->left = 0;
    receiver->zero_is_due = false;
    receiver->is_broken = false;
}

bool cm_frame_receive(struct cm_receiver *receiver, uint8_t byte)
{
    if (byte == 0) {
        bool whole = is_whole(receiver);
        uint32_t length = receiver->frame.length;
        begin(receiver);
        /* The message stays valid until the next received byte. */
        receiver->frame.length = whole ? length : 0;
        receiver->is_fresh = true;
        return whole;
    }
    if (receiver->is_fresh)
        begin(receiver);
    receiver->is_fresh = false;
    if (receiver->left > 0) {
        --receiver->left;
        append(receiver, byte);
        return false;
    }
    if (receiver->zero_is_due)
        append(receiver, 0);
    receiver->left = (uint8_t)(byte - 1);
    receiver->zero_is_due = byte <= LONGEST_BLOCK;
    return false;
}
