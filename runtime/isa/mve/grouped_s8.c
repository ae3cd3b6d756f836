/* Convolution in groups of few channels with MVE: a tap is four channels. */
#include <stdint.h>

typedef uint32_t offset;
enum { LANES = 4, WIDTH = 4 };

/* clang-format off */
#define LOAD_OFFSETS "vldrw.32 q0, [r11], #16\n"
#define LOAD_WEIGHTS(weights) "vldrb.8 " weights ", [r5], #16\n"
#define GATHER(values, pixel) "vldrw.u32 " values ", [" pixel ", q0]\n"
#define ADVANCE "vadd.i32 q0, q0, r9\n"
#define MULTIPLY "vmladav.s8"
#define MULTIPLY_ADD "vmladava.s8"
/* clang-format on */
#include "gathered_taps.h"

FILTERS_FUNCTION(cm_mve_grouped);

void cm_isa_grouped_s8(const struct cm_depthwise *d)
{
    const int32_t *head = d->weights;
    convolve_gathered(d, (const int8_t *)(head + 1), *head, cm_mve_grouped);
}
