/* What an image sees of the computer it talks to: named streams of bytes, a console, an end. One image
   links one host: a board that defines these functions itself talks over something else than semihosting. */
#ifndef CMRT_HOST_H
#define CMRT_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

/* Shows text that ends in a newline, which says what the image is, and comes before anything else; where
   there may be no host yet, waits for one that wants it. */
void cm_host_greet(const char *text);

/* Reads `bytes` bytes of stream `name` from `offset` on; false unless all of them came. */
bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes);

/* Adds to the end of stream `name`, which is new if nothing was added before. */
bool cm_host_append(const char *name, const void *data, uint32_t bytes);

/* Shows text that ends in a newline. Must work in a fault handler. */
void cm_host_print(const char *text);

/* Ends the run; 0 means success, up to 127. */
noreturn void cm_host_exit(int status);

#endif
