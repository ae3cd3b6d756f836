/* int8 numbers within bounds, four at a time: SSUB8 compares, SEL takes the larger or the smaller one. */
#include "cmrt/arithmetic.h"
#include "cmrt/isa.h"
#include "simd.h"

enum { WORDS = 4 };

static uint32_t four_times(int32_t number)
{
    return (uint8_t)number * UINT32_C(0x01010101);
}

/* The loads follow each other, as those of a Cortex-M4 then overlap. */
static void raise(uint32_t *words, uint32_t least)
{
    uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
    words[0] = larger_bytes(a, least);
    words[1] = larger_bytes(b, least);
    words[2] = larger_bytes(c, least);
    words[3] = larger_bytes(d, least);
}

static void confine(uint32_t *words, uint32_t least, uint32_t most)
{
    uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
    words[0] = smaller_bytes(larger_bytes(a, least), most);
    words[1] = smaller_bytes(larger_bytes(b, least), most);
    words[2] = smaller_bytes(larger_bytes(c, least), most);
    words[3] = smaller_bytes(larger_bytes(d, least), most);
}

void cm_isa_clamp_s8(int8_t *x, int32_t count, int32_t minimum, int32_t maximum)
{
    const int8_t *const end = x + count;
    for (; (uintptr_t)x % sizeof(uint32_t) != 0 && x < end; ++x)
        *x = (int8_t)cm_clamp(*x, minimum, maximum);
    uint32_t *words = (uint32_t *)(void *)x;
    uint32_t *const last = words + (end - x) / (WORDS * (int32_t)sizeof(uint32_t)) * WORDS;
    const uint32_t least = four_times(minimum), most = four_times(maximum);
    if (maximum == INT8_MAX)
        for (; words < last; words += WORDS)
            raise(words, least);
    else
        for (; words < last; words += WORDS)
            confine(words, least, most);
    for (x = (int8_t *)words; x < end; ++x)
        *x = (int8_t)cm_clamp(*x, minimum, maximum);
}
