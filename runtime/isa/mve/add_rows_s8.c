#include "cmrt/add_rows.h"

#include <arm_mve.h>

void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums)
{
    for (int32_t i = 0; i < length; i += 4) {
        mve_pred16_t valid = vctp32q((uint32_t)(length - i));
        const int8_t *x = rows + i;
        int32x4_t sum = vldrwq_z_s32(sums + i, valid);
        for (int32_t row = 0; row < count; ++row, x += length)
            sum = vaddq_s32(sum, vldrbq_s32(x));
        vstrwq_p_s32(sums + i, sum, valid);
    }
}
