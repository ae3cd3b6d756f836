/* What the runtime needs of C's <string.h>, for toolchains that come without a C library. */
#ifndef CMRT_LIBC_STRING_H
#define CMRT_LIBC_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *lhs, const void *rhs, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *lhs, const char *rhs);

/* Without an operating system zig takes these for functions like any other, and calls them for a word. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define memmove(to, from, bytes) __builtin_memmove(to, from, bytes)
#define memset(to, byte, bytes) __builtin_memset(to, byte, bytes)

#endif
