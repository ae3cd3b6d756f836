/* Strided copy of byte blocks: short ones, as rows of a kernel often are, without calling memcpy. */
#include "cmrt/isa.h"

#include <string.h>

enum { WORD = 4, MOST_WORDS = 4 };

/* Blocks of more than `words` - 1 words and at most so many; the last word overlaps the one before. */
static inline void copy_words(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                              int32_t bytes, int32_t count, int32_t words)
{
    int32_t last = bytes - WORD;
    for (; count > 0; --count, out += out_stride, in += in_stride) {
        uint32_t block[MOST_WORDS];
        for (int32_t i = 0; i < words - 1; ++i)
            memcpy(&block[i], in + WORD * i, WORD);
        memcpy(&block[words - 1], in + last, WORD);
        for (int32_t i = 0; i < words - 1; ++i)
            memcpy(out + WORD * i, &block[i], WORD);
        memcpy(out + last, &block[words - 1], WORD);
    }
}

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    switch (bytes < WORD ? 0 : (bytes + WORD - 1) / WORD) {
    case 1:
        copy_words(out, out_stride, in, in_stride, bytes, count, 1);
        return;
    case 2:
        copy_words(out, out_stride, in, in_stride, bytes, count, 2);
        return;
    case 3:
        copy_words(out, out_stride, in, in_stride, bytes, count, 3);
        return;
    case MOST_WORDS:
        copy_words(out, out_stride, in, in_stride, bytes, count, MOST_WORDS);
        return;
    default:
        for (; count > 0; --count, out += out_stride, in += in_stride)
            memcpy(out, in, (size_t)bytes);
    }
}
