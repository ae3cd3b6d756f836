#include "cmrt/pool.h"

#include <arm_mve.h>
#include <string.h>

enum {
    TAPS = 4, /* of all windows, compared at once */
    FEW = 4   /* windows are faster taken one at a time */
};

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

static void take_windows(const struct cm_windows *windows, int8x16_t low, int8x16_t high)
{
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        for (int32_t channel = 0; channel < windows->channels; channel += 16) {
            int8x16_t result = vminq_s8(vmaxq_s8(maximum_of(windows, input + channel), low), high);
            vstrbq_p_s8(out + channel, result, vctp8q((uint32_t)(windows->channels - channel)));
        }
        input += windows->pixel_stride;
        out += windows->channels;
    }
}

/* Raises sixteen channels of all outputs to those of the taps. */
static void raise_outputs(const struct cm_windows *windows, const int8_t *const taps[TAPS], int32_t channel,
                          int8x16_t high)
{
    const int8_t *a = taps[0] + channel, *b = taps[1] + channel, *c = taps[2] + channel,
                 *d = taps[3] + channel;
    int8_t *out = windows->out + channel;
    __asm volatile("vctp.8 %[left]\n"
                   "dls lr, %[pixels]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[a]]\n"
                   "add %[a], %[stride]\n"
                   "vldrb.8 q1, [%[b]]\n"
                   "add %[b], %[stride]\n"
                   "vmax.s8 q0, q0, q1\n"
                   "vldrb.8 q1, [%[c]]\n"
                   "add %[c], %[stride]\n"
                   "vldrb.8 q2, [%[d]]\n"
                   "vmax.s8 q0, q0, q1\n"
                   "add %[d], %[stride]\n"
                   "vldrb.8 q1, [%[out]]\n"
                   "vmax.s8 q0, q0, q2\n"
                   "vmax.s8 q0, q0, q1\n"
                   "vmin.s8 q0, q0, %q[high]\n"
                   "vpst\n"
                   "vstrbt.8 q0, [%[out]]\n"
                   "add %[out], %[channels]\n"
                   "le lr, 1b\n"
                   : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [out] "+r"(out)
                   : [left] "r"(windows->channels - channel), [pixels] "r"(windows->pixels),
                     [stride] "r"(windows->pixel_stride), [channels] "r"(windows->channels), [high] "w"(high)
                   : "q0", "q1", "q2", "lr", "memory");
}

/* A few taps of all windows at a time: the last ones count more than once. */
static void take_taps(const struct cm_windows *windows, int32_t minimum, int8x16_t high)
{
    int32_t row = 0, column = 0;
    memset(windows->out, minimum, (size_t)(windows->pixels * windows->channels));
    while (row < windows->row_count) {
        const int8_t *taps[TAPS], *tap = NULL;
        for (int32_t i = 0; i < TAPS; ++i) {
            if (row < windows->row_count)
                tap = windows->input + windows->rows[row] + column * windows->column_stride;
            taps[i] = tap;
            if (++column >= windows->column_count) {
                column = 0;
                ++row;
            }
        }
        for (int32_t channel = 0; channel < windows->channels; channel += 16)
            raise_outputs(windows, taps, channel, high);
    }
}

void cm_isa_max_window_s8(const struct cm_windows *windows, int32_t minimum, int32_t maximum)
{
    int8x16_t high = vdupq_n_s8((int8_t)maximum);
    if (windows->pixels < FEW)
        take_windows(windows, vdupq_n_s8((int8_t)minimum), high);
    else
        take_taps(windows, minimum, high);
}
