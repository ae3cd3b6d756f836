#include "cmrt/arithmetic.h"
#include "cmrt/pool.h"

static int32_t maximum_of(const struct cm_windows *windows, const int8_t *input)
{
    int32_t maximum = INT8_MIN;
    for (int32_t row = 0; row < windows->row_count; ++row) {
        const int8_t *pixel = input + windows->rows[row];
        for (int32_t column = 0; column < windows->column_count; ++column) {
            maximum = *pixel > maximum ? *pixel : maximum;
            pixel += windows->column_stride;
        }
    }
    return maximum;
}

void cm_isa_max_window_s8(const struct cm_windows *windows, int32_t minimum, int32_t maximum)
{
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        for (int32_t channel = 0; channel < windows->channels; ++channel)
            *out++ = (int8_t)cm_clamp(maximum_of(windows, input + channel), minimum, maximum);
        input += windows->pixel_stride;
    }
}
