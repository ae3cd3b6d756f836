#include "cmrt/add_rows.h"

#include <arm_mve.h>

enum { LANES = 16, MOST_ROWS = 256 }; /* whose sums always fit 16 bits */

/* Sums of sixteen columns over up to MOST_ROWS rows. */
static inline int16x8x2_t short_sums(const int8_t *x, int32_t count, int32_t length)
{
    int16x8_t low = vdupq_n_s16(0), high = low;
    __asm volatile("dls lr, %[count]\n"
                   "1:\n"
                   "vldrb.s16 q0, [%[x]]\n"
                   "vldrb.s16 q1, [%[x], #8]\n"
                   "add %[x], %[length]\n"
                   "vadd.i16 %q[low], %q[low], q0\n"
                   "vadd.i16 %q[high], %q[high], q1\n"
                   "le lr, 1b\n"
                   : [x] "+l"(x), [low] "+w"(low), [high] "+w"(high)
                   : [length] "r"(length), [count] "r"(count)
                   : "q0", "q1", "lr", "memory");
    return (int16x8x2_t){{low, high}};
}

/* Adds to those sums whose places are less than `length`. */
static inline void add_four(int32_t *sums, uint32x4_t places, int32_t length, int32x4_t four)
{
    mve_pred16_t inside = vcmphiq_u32(vdupq_n_u32((uint32_t)length), places);
    int32x4_t before = vldrwq_gather_shifted_offset_z_s32(sums, places, inside);
    vstrwq_scatter_shifted_offset_p_s32(sums, places, vaddq_s32(before, four), inside);
}

void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums)
{
    for (int32_t left = count, most; left > 0; left -= most, rows += most * length) {
        most = left < MOST_ROWS ? left : MOST_ROWS;
        for (int32_t i = 0; i < length; i += LANES) {
            int16x8x2_t columns = short_sums(rows + i, most, length);
            for (int32_t half = 0; half < 2; ++half) {
                uint32x4_t places = vidupq_n_u32((uint32_t)(i + 8 * half), 2);
                add_four(sums, places, length, vmovlbq_s16(columns.val[half]));
                add_four(sums, vaddq_n_u32(places, 1), length, vmovltq_s16(columns.val[half]));
            }
        }
    }
}
