/* C's string functions; compiler-rt has memcpy and memset. */
#include <stdint.h>
#include <string.h>

int memcmp(const void *lhs, const void *rhs, size_t bytes)
{
    const uint8_t *a = lhs, *b = rhs;
    for (; bytes > 0; --bytes, ++a, ++b)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        ++length;
    return length;
}

int strcmp(const char *lhs, const char *rhs)
{
    for (; *lhs != '\0' && *lhs == *rhs; ++lhs)
        ++rhs;
    return (uint8_t)*lhs - (uint8_t)*rhs;
}
