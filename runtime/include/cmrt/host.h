/* The host interface of an image: named byte streams, a console, exit. The default is semihosting; a board
   may define these functions itself. */
#ifndef CMRT_HOST_H
#define CMRT_HOST_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Announces the image with text that ends in a newline; called first. Waits for the host if it may not be
   connected yet. */
void cm_host_greet(const char *text);

/* Reads `bytes` bytes of stream `name` from `offset` on; false unless all were read. */
bool cm_host_read(const char *name, uint32_t offset, void *data, uint32_t bytes);

/* Appends to stream `name`, which the first call creates. */
bool cm_host_append(const char *name, const void *data, uint32_t bytes);

/* Shows text that ends in a newline. Must work in a fault handler. */
void cm_host_print(const char *text);

/* Ends the run; 0 means success, up to 127. */
__attribute__((noreturn)) void cm_host_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
