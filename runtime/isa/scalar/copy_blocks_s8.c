/* Strided copy of byte blocks: short ones, as rows of a kernel often are, without calling memcpy. */
#include "cmrt/isa.h"

#include <string.h>

enum { WORD = 4, SHORT = 16 };

static inline void copy_words(int8_t *out, const int8_t *in, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i += WORD) {
        uint32_t word;
        memcpy(&word, __builtin_assume_aligned(in + i, WORD), WORD);
        memcpy(__builtin_assume_aligned(out + i, WORD), &word, WORD);
    }
}

static inline void copy_bytes(uint8_t *out, const uint8_t *in, int32_t bytes)
{
    for (; bytes >= 4; bytes -= 4, out += 4, in += 4) {
        uint8_t first = in[0], second = in[1], third = in[2], fourth = in[3];
        out[0] = first;
        out[1] = second;
        out[2] = third;
        out[3] = fourth;
    }
    if ((bytes & 2) != 0) {
        uint8_t first = in[0], second = in[1];
        out[0] = first;
        out[1] = second;
        out += 2;
        in += 2;
    }
    if ((bytes & 1) != 0)
        *out = *in;
}

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    const uint32_t places = (uint32_t)((uintptr_t)out | (uintptr_t)in);
    if (bytes >= SHORT)
        for (; count > 0; --count, out += out_stride, in += in_stride)
            memcpy(out, in, (size_t)bytes);
    else if ((places | (uint32_t)(out_stride | in_stride | bytes)) % WORD == 0)
        for (; count > 0; --count, out += out_stride, in += in_stride)
            copy_words(out, in, bytes);
    else
        for (; count > 0; --count, out += out_stride, in += in_stride)
            copy_bytes((uint8_t *)out, (const uint8_t *)in, bytes);
}
