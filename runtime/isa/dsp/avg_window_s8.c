#include "cmrt/division.h"
#include "cmrt/pool.h"
#include "simd.h"

/* The most int8 numbers whose sum always fits 16 bits. */
#define MOST_FOR_16_BITS 256

/* Sums of channels 0 and 2, and of 1 and 3. */
struct sums {
    int16x2_t even, odd;
};

/* Of four channels over a window of up to MOST_FOR_16_BITS pixels. */
static inline struct sums sums_of(const struct cm_windows *windows, const int8_t *input)
{
    const int32_t columns = windows->column_count, stride = windows->column_stride;
    struct sums sums = {0, 0};
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = columns; column > 0; --column) {
            const uint32_t bytes = load_bytes(pixel);
            sums.even = add_even(sums.even, bytes);
            sums.odd = add_odd(sums.odd, bytes);
            pixel += stride;
        }
    }
    return sums;
}

/* Returns the address after the last mean. */
static inline int8_t *write_four(const struct cm_windows *windows, const struct cm_mean *mean,
                                 const int8_t *input, int8_t *out)
{
    struct sums sums = sums_of(windows, input);
    out[0] = cm_mean_of(mean, (int16_t)sums.even);
    out[1] = cm_mean_of(mean, (int16_t)sums.odd);
    out[2] = cm_mean_of(mean, sums.even >> 16);
    out[3] = cm_mean_of(mean, sums.odd >> 16);
    return out + 4;
}

void cm_isa_avg_window_s8(const struct cm_windows *windows)
{
    uint32_t count = (uint32_t)(windows->row_count * windows->column_count);
    struct cm_mean mean = cm_mean_over(count);
    int32_t fours = count <= MOST_FOR_16_BITS ? windows->channels & ~3 : 0;
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        for (int32_t channel = 0; channel < fours; channel += 4)
            out = write_four(windows, &mean, input + channel, out);
        for (int32_t channel = fours; channel < windows->channels; ++channel)
            *out++ = cm_mean_of(&mean, cm_window_sum(windows, input + channel));
        input += windows->pixel_stride;
    }
}
