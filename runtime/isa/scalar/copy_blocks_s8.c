/* Strided copy of byte blocks: short ones, as rows of a kernel often are, without calling memcpy. */
#include "cmrt/isa.h"

#include <string.h>

enum { SHORT = 16, WORD = 4 };

static inline void copy_words(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                              int32_t bytes, int32_t count)
{
    for (; count > 0; --count, out += out_stride, in += in_stride)
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
    if (bytes > 2)
        out[2] = in[2];
    if (bytes > 1)
        out[1] = in[1];
    if (bytes > 0)
        out[0] = in[0];
}

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    if (bytes < SHORT &&
        (((uintptr_t)out | (uintptr_t)in | (uint32_t)(out_stride | in_stride | bytes)) & (WORD - 1)) == 0) {
        if (bytes == WORD)
            copy_words(out, out_stride, in, in_stride, WORD, count);
        else
            copy_words(out, out_stride, in, in_stride, bytes, count);
        return;
    }
    for (; count > 0; --count, out += out_stride, in += in_stride)
        if (bytes < SHORT)
            copy_bytes((uint8_t *)out, (const uint8_t *)in, bytes);
        else
            memcpy(out, in, (size_t)bytes);
}
