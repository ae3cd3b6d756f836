/* The host interface over a serial line (cmrt/serial.h): every function is a request that the host answers.
   cmbuild/hardware/ is the host's side.

   A message is a byte with the version, one with the kind, a 16-bit number, and a body; numbers are
   little-endian. An answer repeats the number of its request. The device resends an unanswered request with
   the same number, and the host answers it again without performing it twice; in the end the device restarts.

     request     body                             answer
     GREETING    text: what the image is          DONE; its number is 0
     READ        u32 offset, u16 bytes, name      DATA with the bytes, or REFUSED
     APPEND      u8 length of name, name, bytes   DONE or REFUSED
     PRINT       text                             DONE
     END         u8 exit status                   DONE; the device restarts

   The host may answer any request with RESTART, if it does not know of the run in progress. */
#ifndef CMRT_SERIAL_HOST_H
#define CMRT_SERIAL_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define CM_SERIAL_VERSION 1

enum {
    CM_SERIAL_GREETING = 1,
    CM_SERIAL_READ = 2,
    CM_SERIAL_APPEND = 3,
    CM_SERIAL_PRINT = 4,
    CM_SERIAL_END = 5,
    CM_SERIAL_DONE = 0x81,
    CM_SERIAL_DATA = 0x82,
    CM_SERIAL_REFUSED = 0x83,
    CM_SERIAL_RESTART = 0x84,
};

/* As the functions of cmrt/host.h. */
void cm_serial_greet(const char *text);
bool cm_serial_read(const char *name, uint32_t offset, void *data, uint32_t bytes);
bool cm_serial_append(const char *name, const void *data, uint32_t bytes);
void cm_serial_print(const char *text);
noreturn void cm_serial_exit(int status);

#endif
