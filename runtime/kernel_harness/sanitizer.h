/* Poisons memory for the address sanitizer, in builds with one. */
#ifndef SANITIZER_H
#define SANITIZER_H

#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#endif

static inline void forbid(const uint8_t *from, const uint8_t *to)
{
    ASAN_POISON_MEMORY_REGION(from, (uintptr_t)to - (uintptr_t)from);
}

static inline void allow(const uint8_t *from, const uint8_t *to)
{
    ASAN_UNPOISON_MEMORY_REGION(from, (uintptr_t)to - (uintptr_t)from);
}

#endif
