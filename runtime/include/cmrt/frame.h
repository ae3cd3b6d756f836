/* Messages on a serial line: each with its CRC-32, in COBS encoding (Cheshire and Baker, "Consistent Overhead
   Byte Stuffing", 1999), ended by a zero byte. cmbuild/hardware/frames.py is the host's side. */
#ifndef CMRT_FRAME_H
#define CMRT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define CM_FRAME_BYTES 1088 /* the longest message */
#define CM_FRAME_ROOM (CM_FRAME_BYTES + 4)

/* A message under construction; the bytes after it in memory are for the checksum. */
struct cm_frame {
    uint32_t length;
    uint8_t data[CM_FRAME_ROOM];
};

/* Adds to a message; false, and adds nothing, if it does not fit. */
bool cm_frame_add(struct cm_frame *frame, const void *data, uint32_t bytes);

/* Sends a message byte by byte. */
void cm_frame_send(struct cm_frame *frame, void (*put)(uint8_t byte));

/* State of the receiver; zeros at the start. */
struct cm_receiver {
    struct cm_frame frame;
    uint8_t left;     /* bytes until the next block */
    bool zero_is_due; /* before the next block, if there is one */
    bool is_broken;   /* the message is too long */
    bool is_fresh;    /* the next byte is the first of a message */
};

/* Takes a received byte; true if it completes a valid message, which is then in `frame`. */
bool cm_frame_receive(struct cm_receiver *receiver, uint8_t byte);

#endif
