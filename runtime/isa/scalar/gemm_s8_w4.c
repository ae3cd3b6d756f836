/* int8 matrix product with weights of four bits without SIMD: rows in pairs, an odd last one alone. */
#include "narrow_rows.h"

NIBBLES_OF_TWO_ROWS(cm_scalar_multiply_nibbles);

/* Offsets two rows by 128: their bytes alternate, up to an even number of depths. */
static void shift_pair(uint8_t *out, const int8_t *row, const int8_t *next, int32_t depth,
                       struct narrow_rows *sums)
{
    uint32_t sum = 0, next_sum = 0;
    int32_t k = 0;
    if (((uintptr_t)row | (uintptr_t)next) % 4 == 0)
        for (; k + 4 <= depth; k += 4, out += 8) {
            uint32_t four, after;
            memcpy(&four, __builtin_assume_aligned(row + k, 4), 4);
            memcpy(&after, __builtin_assume_aligned(next + k, 4), 4);
            four ^= UINT32_C(0x80808080);
            after ^= UINT32_C(0x80808080);
            uint32_t even = four & 0x00ff00ff, next_even = after & 0x00ff00ff;
            uint32_t odd = four >> 8 & 0x00ff00ff, next_odd = after >> 8 & 0x00ff00ff;
            const uint32_t evens = even | next_even << 8, odds = odd | next_odd << 8;
            const uint32_t words[2] = {(evens & 0xffff) | odds << 16, evens >> 16 | (odds & 0xffff0000)};
            memcpy(__builtin_assume_aligned(out, 4), words, sizeof words);
            even += odd;
            next_even += next_odd;
            sum += (even & 0xffff) + (even >> 16);
            next_sum += (next_even & 0xffff) + (next_even >> 16);
        }
    for (; k < depth; ++k) {
        *out++ = (uint8_t)(row[k] ^ 0x80);
        *out++ = (uint8_t)(next[k] ^ 0x80);
        sum += out[-2];
        next_sum += out[-1];
    }
    if (depth % 2 != 0)
        out[0] = out[1] = 0;
    sums->offset[0] = 0 - OFFSET * sum;
    sums->offset[1] = 0 - OFFSET * next_sum;
}

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    struct cm_gemm left = *gemm;
    for (; left.rows > 1; left.rows -= 2) {
        struct narrow_rows rows = {.multiply = cm_scalar_multiply_nibbles, .count = 2};
        shift_pair(left.workspace, left.lhs, left.lhs + left.lhs_stride, left.depth, &rows);
        multiply_narrow(&left, &rows);
        left.lhs += 2 * left.lhs_stride;
        left.out += 2 * left.out_stride;
    }
    if (left.rows > 0)
        cm_isa_gemv_s8_w4(&left);
}

void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    cm_isa_gemm_s8_w4(gemm);
}
