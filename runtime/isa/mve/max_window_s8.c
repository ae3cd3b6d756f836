#include "cmrt/pool.h"

#include <arm_mve.h>

/* Maximum of sixteen channels over a window. */
static int8x16_t maximum_of(const struct cm_windows *windows, const int8_t *input)
{
    int8x16_t maximum = vdupq_n_s8(INT8_MIN);
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        __asm volatile("dls lr, %[count]\n"
                       "1:\n"
                       "vldrb.8 q0, [%[pixel]]\n"
                       "add %[pixel], %[stride]\n"
                       "vmax.s8 %q[maximum], %q[maximum], q0\n"
                       "le lr, 1b\n"
                       : [pixel] "+r"(pixel), [maximum] "+w"(maximum)
                       : [stride] "r"(windows->column_stride), [count] "r"(windows->column_count)
                       : "q0", "lr", "memory");
    }
    return maximum;
}

void cm_isa_max_window_s8(const struct cm_windows *windows, int32_t minimum, int32_t maximum)
{
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    int8x16_t low = vdupq_n_s8((int8_t)minimum), high = vdupq_n_s8((int8_t)maximum);
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        for (int32_t channel = 0; channel < windows->channels; channel += 16) {
            int8x16_t result = vminq_s8(vmaxq_s8(maximum_of(windows, input + channel), low), high);
            vstrbq_p_s8(out + channel, result, vctp8q((uint32_t)(windows->channels - channel)));
        }
        input += windows->pixel_stride;
        out += windows->channels;
    }
}
