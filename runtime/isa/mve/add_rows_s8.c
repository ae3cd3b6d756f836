#include "cmrt/add_rows.h"

#include <arm_mve.h>

enum { MOST_ROWS = 256 }; /* whose sums always fit 16 bits */

/* Adds sums of eight columns, those that are valid. */
static void add_eight(int32_t *sums, int16x8_t columns, int32_t valid)
{
    int16_t narrow[8];
    vst1q_s16(narrow, columns);
    for (int32_t i = 0; i < 8; i += 4) {
        mve_pred16_t some = valid > i ? vctp32q((uint32_t)(valid - i)) : 0;
        int32x4_t sum = vldrwq_z_s32(sums + i, some);
        vstrwq_p_s32(sums + i, vaddq_s32(sum, vldrhq_s32(narrow + i)), some);
    }
}

/* Of sixteen columns. */
static void add_sixteen(const int8_t *x, int32_t count, int32_t length, int32_t *sums)
{
    int16x8_t low = vdupq_n_s16(0), high = vdupq_n_s16(0);
    for (int32_t row = 0; row < count; ++row, x += length) {
        low = vaddq_s16(low, vldrbq_s16(x));
        high = vaddq_s16(high, vldrbq_s16(x + 8));
    }
    add_eight(sums, low, 8);
    add_eight(sums + 8, high, 8);
}

/* Of up to eight columns. */
static void add_some(const int8_t *x, int32_t count, int32_t length, int32_t *sums, int32_t valid)
{
    const mve_pred16_t some = vctp16q((uint32_t)valid);
    int16x8_t columns = vdupq_n_s16(0);
    for (int32_t row = 0; row < count; ++row, x += length)
        columns = vaddq_s16(columns, vldrbq_z_s16(x, some));
    add_eight(sums, columns, valid);
}

void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums)
{
    for (int32_t most; count > 0; count -= most, rows += most * length) {
        most = count < MOST_ROWS ? count : MOST_ROWS;
        int32_t i = 0;
        for (; i + 16 <= length; i += 16)
            add_sixteen(rows + i, most, length, sums + i);
        for (; i < length; i += 8)
            add_some(rows + i, most, length, sums + i, length - i < 8 ? length - i : 8);
    }
}
