#include "cmrt/division.h"
#include "cmrt/pool.h"

void cm_isa_avg_window_s8(const struct cm_windows *windows)
{
    struct cm_mean mean = cm_mean_over((uint32_t)(windows->row_count * windows->column_count));
    const int8_t *input = windows->input;
    int8_t *out = windows->out;
    for (int32_t pixel = 0; pixel < windows->pixels; ++pixel) {
        for (int32_t channel = 0; channel < windows->channels; ++channel)
            *out++ = cm_mean_of(&mean, cm_window_sum(windows, input + channel));
        input += windows->pixel_stride;
    }
}
