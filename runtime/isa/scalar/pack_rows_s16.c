#include "cmrt/isa.h"
#include "short_rows.h"

#include <stddef.h>
#include <string.h>

/* sum: of all words; next_sum: of their upper halves. */
void cm_scalar_pack_shorts(struct short_rows *packed, int32_t at, const int8_t *rows, int32_t stride,
                           int32_t depth)
{
    const int16_t *row = (const int16_t *)(const void *)rows;
    const int16_t *next = (const int16_t *)(const void *)(rows + stride);
    uint32_t *out = packed->words + at;
    const uint32_t signs = UINT32_C(0x80008000);
    uint32_t sum = 0, next_sum = 0;
    int32_t k = 0;
    if (((uintptr_t)row | (uintptr_t)next) % 4 == 0)
        for (; k + 2 <= depth; k += 2, out += 2) {
            uint32_t two, after;
            memcpy(&two, __builtin_assume_aligned(row + k, 4), 4);
            memcpy(&after, __builtin_assume_aligned(next + k, 4), 4);
            two ^= signs;
            after ^= signs;
            const uint32_t first = (two & 0xffff) | after << 16, second = two >> 16 | after >> 16 << 16;
            out[0] = first;
            out[1] = second;
            sum += first + second;
            next_sum += (first >> 16) + (second >> 16);
        }
    for (; k < depth; ++k) {
        const uint32_t word = ((uint16_t)row[k] | (uint32_t)(uint16_t)next[k] << 16) ^ signs;
        *out++ = word;
        sum += word;
        next_sum += word >> 16;
    }
    if (at == 0)
        packed->excess[0] = packed->excess[1] = 0;
    packed->excess[0] += OFFSET * (sum - (next_sum << 16));
    packed->excess[1] += OFFSET * next_sum;
}

void cm_isa_pack_rows_s16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes,
                          int32_t row_stride, int32_t depth)
{
    const int32_t size = (int32_t)sizeof(int16_t);
    gemm->lhs = NULL;
    for (const int32_t end = at + depth; at < end; at += bytes, in += row_stride)
        cm_scalar_pack_shorts(gemm->workspace, at / size, in, stride, bytes / size);
}
