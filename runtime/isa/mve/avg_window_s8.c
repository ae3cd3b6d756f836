#include "cmrt/pool.h"

#include <arm_mve.h>

/* The most int8 numbers whose sum always fits 16 bits. */
#define MOST_FOR_16_BITS 256

/* A division by `count` as a multiplication: with the reciprocal rounded down, the high half of
   (x + 1) * reciprocal is x / count for all x < 256 * count. */
struct mean {
    int32_t offset; /* makes sums positive, rounds, and adds the 1 */
    uint32_t reciprocal;
    int32_t ties; /* -1 if halves occur, which round away from zero */
};

static struct mean mean_over(int32_t count)
{
    return (struct mean){
        .offset = 128 * count + count / 2 + 1,
        .reciprocal = UINT32_MAX / (uint32_t)count,
        .ties = count % 2 == 0 ? -1 : 0,
    };
}

/* Means of four sums, plus 128. */
static int32x4_t divided(const struct mean *mean, int32x4_t sums)
{
    int32x4_t ties = vandq_s32(vshrq_n_s32(sums, 31), vdupq_n_s32(mean->ties));
    uint32x4_t positive = vreinterpretq_u32_s32(vaddq_n_s32(vaddq_s32(sums, ties), mean->offset));
    return vreinterpretq_s32_u32(vmulhq_u32(positive, vdupq_n_u32(mean->reciprocal)));
}

/* Sums of sixteen channels over a window of up to MOST_FOR_16_BITS pixels. Rows that follow each other in
   memory are one. */
static inline int16x8x2_t short_sums(const struct cm_windows *windows, const int8_t *input)
{
    const int32_t stride = windows->column_stride, count = windows->column_count;
    int16x8_t low = vdupq_n_s16(0), high = low;
    for (int32_t row = 0; row < windows->row_count;) {
        const int8_t *pixel = input + windows->rows[row];
        int32_t pixels = 0;
        do
            pixels += count;
        while (++row < windows->row_count && pixel + pixels * stride == input + windows->rows[row]);
        __asm volatile("dls lr, %[pixels]\n"
                       "vmov.i32 q1, #0\n"
                       "1:\n"
                       "vldrb.s16 q0, [%[pixel]]\n"
                       "vadd.i16 %q[high], %q[high], q1\n"
                       "vldrb.s16 q1, [%[pixel], #8]\n"
                       "add %[pixel], %[stride]\n"
                       "vadd.i16 %q[low], %q[low], q0\n"
                       "le lr, 1b\n"
                       "vadd.i16 %q[high], %q[high], q1\n"
                       : [pixel] "+l"(pixel), [low] "+w"(low), [high] "+w"(high)
                       : [stride] "r"(stride), [pixels] "r"(pixels)
                       : "q0", "q1", "lr", "memory");
    }
    return (int16x8x2_t){{low, high}};
}

/* Sums of four channels over a window of any size. */
static int32x4_t long_sums(const struct cm_windows *windows, const int8_t *input)
{
    int32x4_t sums = vdupq_n_s32(0);
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = 0; column < windows->column_count; ++column) {
            sums = vaddq_s32(sums, vldrbq_s32(pixel));
            pixel += windows->column_stride;
        }
    }
    return sums;
}

/* Means of eight sums. */
static inline int16x8_t means_of(const struct mean *mean, int16x8_t sums)
{
    int32x4_t even = divided(mean, vmovlbq_s16(sums)), odd = divided(mean, vmovltq_s16(sums));
    return vsubq_n_s16(vmovntq_s32(vreinterpretq_s16_s32(even), odd), 128);
}

static void write_short(const struct cm_windows *windows, const struct mean *mean, const int8_t *input,
                        int8_t *out)
{
    for (int32_t channel = 0; channel < windows->channels; channel += 16) {
        int16x8x2_t sums = short_sums(windows, input + channel);
        int32_t rest = windows->channels - channel;
        vstrbq_p_s16(out + channel, means_of(mean, sums.val[0]), vctp16q((uint32_t)rest));
        if (rest > 8)
            vstrbq_p_s16(out + channel + 8, means_of(mean, sums.val[1]), vctp16q((uint32_t)rest - 8));
    }
}

static void write_long(const struct cm_windows *windows, int32_t count, const int8_t *input, int8_t *out)
{
    for (int32_t channel = 0; channel < windows->channels; channel += 4) {
        int32_t sums[4];
        vst1q_s32(sums, long_sums(windows, input + channel));
        for (int32_t lane = 0; lane < 4 && channel + lane < windows->channels; ++lane) {
            int32_t half = sums[lane] < 0 ? -(count / 2) : count / 2;
            out[channel + lane] = (int8_t)((sums[lane] + half) / count);
        }
    }
}

void cm_isa_avg_window_s8(const struct cm_windows *windows)
{
    int32_t count = windows->row_count * windows->column_count;
    struct mean mean = mean_over(count);
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        if (count <= MOST_FOR_16_BITS)
            write_short(windows, &mean, input, out);
        else
            write_long(windows, count, input, out);
        input += windows->pixel_stride;
        out += windows->channels;
    }
}
