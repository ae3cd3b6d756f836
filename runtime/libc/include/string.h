/* The part of C's <string.h> that the runtime uses, for toolchains without a C library. */
#ifndef CMRT_LIBC_STRING_H
#define CMRT_LIBC_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *lhs, const void *rhs, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *lhs, const char *rhs);

/* For bare metal, zig treats these as ordinary functions and calls them even for one word. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define memmove(to, from, bytes) __builtin_memmove(to, from, bytes)
#define memset(to, byte, bytes) __builtin_memset(to, byte, bytes)

#endif
