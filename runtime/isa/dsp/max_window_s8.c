#include "cmrt/arithmetic.h"
#include "cmrt/pool.h"
#include "simd.h"

/* Maxima of four channels over a window. */
static uint32_t maxima_of(const struct cm_windows *windows, const int8_t *input)
{
    uint32_t maxima = 0x80808080;
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = 0; column < windows->column_count; ++column) {
            maxima = larger_bytes(load_bytes(pixel), maxima);
            pixel += windows->column_stride;
        }
    }
    return maxima;
}

void cm_isa_max_window_s8(const struct cm_windows *windows, int32_t minimum, int32_t maximum)
{
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        for (int32_t channel = 0; channel < windows->channels; channel += 4) {
            uint32_t maxima = maxima_of(windows, input + channel);
            for (int32_t i = 0; i < 4 && channel + i < windows->channels; ++i)
                *out++ = (int8_t)cm_clamp((int8_t)(maxima >> 8 * i), minimum, maximum);
        }
        input += windows->pixel_stride;
    }
}
