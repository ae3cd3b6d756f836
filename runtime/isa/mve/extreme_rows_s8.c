#include "cmrt/extreme.h"

#include <arm_mve.h>

/* Of elements that follow each other. */
static int32_t largest_of_run(int32_t most, const int8_t *x, int32_t count, int32_t flip)
{
    __asm volatile("vdup.8 q1, %[flip]\n"
                   "dlstp.8 lr, %[count]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[x]], #16\n"
                   "veor q0, q0, q1\n"
                   "vmaxv.s8 %[most], q0\n"
                   "letp lr, 1b\n"
                   : [x] "+r"(x), [most] "+r"(most)
                   : [count] "r"(count), [flip] "r"(flip)
                   : "q0", "q1", "lr", "memory");
    return most;
}

/* Of sixteen columns. */
static int8x16_t largest_of_columns(int8x16_t most, const int8_t *x, int32_t count, int32_t stride,
                                    int8x16_t flip)
{
    __asm volatile("dls lr, %[count]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[x]]\n"
                   "add %[x], %[stride]\n"
                   "veor q0, q0, %q[flip]\n"
                   "vmax.s8 %q[most], %q[most], q0\n"
                   "le lr, 1b\n"
                   : [x] "+r"(x), [most] "+w"(most)
                   : [stride] "r"(stride), [count] "r"(count), [flip] "w"(flip)
                   : "q0", "lr", "memory");
    return most;
}

void cm_isa_extreme_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t flip, int8_t *extremes)
{
    if (length == 1) {
        *extremes = (int8_t)(largest_of_run(*extremes ^ flip, rows, count, flip) ^ flip);
        return;
    }
    int8x16_t flips = vdupq_n_s8((int8_t)flip);
    for (int32_t i = 0; i < length; i += 16) {
        mve_pred16_t valid = vctp8q((uint32_t)(length - i));
        int8x16_t most = veorq_s8(vldrbq_z_s8(extremes + i, valid), flips);
        most = largest_of_columns(most, rows + i, count, length, flips);
        vstrbq_p_s8(extremes + i, veorq_s8(most, flips), valid);
    }
}
