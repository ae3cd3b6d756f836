#include "cmrt/isa.h"
#include "short_rows.h"

#include <string.h>

enum { SIGN = 0x8000, OFFSET = 128 /* of weights */ };

/* Takes off products of pairs, and what the weights' offset adds to sums, each of which is a column's and 256
   times the next one. */
static void take_off(uint32_t *starts, uint32_t products, uint32_t excess)
{
    uint32_t more = 0;
    for (int32_t i = COLUMNS - 1; i >= 0; --i) {
        more = (more << 8) + excess;
        starts[i] -= products + more;
    }
}

void cm_scalar_pack_shorts(struct short_row *packed, int32_t at, const int8_t *from, int32_t depth)
{
    const int16_t *row = (const int16_t *)(const void *)from, *const end = row + depth;
    uint16_t *out = packed->shorts + at;
    uint32_t sum = 0, products = 0;
    if (at == 0)
        memset(packed->starts, 0, sizeof packed->starts);
    if (at % 2 != 0 && row < end) {
        *out = (uint16_t)(*row++ ^ SIGN);
        sum += *out;
        products += (uint32_t)out[-1] * *out;
        ++out;
    }
    if ((uintptr_t)row % 4 == 0)
        for (; row + 1 < end; row += 2, out += 2) {
            uint32_t two;
            memcpy(&two, __builtin_assume_aligned(row, 4), 4);
            two ^= UINT32_C(0x80008000);
            memcpy(__builtin_assume_aligned(out, 4), &two, 4);
            sum += (two & 0xffff) + (two >> 16);
            products += (two & 0xffff) * (two >> 16);
        }
    for (; row + 1 < end; row += 2, out += 2) {
        out[0] = (uint16_t)(row[0] ^ SIGN);
        out[1] = (uint16_t)(row[1] ^ SIGN);
        sum += (uint32_t)out[0] + out[1];
        products += (uint32_t)out[0] * out[1];
    }
    if (row < end) {
        out[0] = (uint16_t)(*row ^ SIGN);
        out[1] = 0;
        sum += out[0];
    }
    take_off(packed->starts, products, OFFSET * sum);
}

void cm_isa_pack_rows_s16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes,
                          int32_t row_stride, int32_t depth)
{
    const int32_t size = (int32_t)sizeof(int16_t);
    struct short_row *const first = gemm->workspace;
    struct short_row *const second = short_row_at(first, 1, short_pairs(gemm->depth / size));
    gemm->lhs = NULL;
    for (const int32_t end = at + depth; at < end; at += bytes, in += row_stride) {
        cm_scalar_pack_shorts(first, at / size, in, bytes / size);
        cm_scalar_pack_shorts(second, at / size, in + stride, bytes / size);
    }
}
