/* gathered_taps.h for taps of a byte, as 16 bits in the lanes. */
#ifndef BYTE_TAPS_H
#define BYTE_TAPS_H

#include <stdint.h>

typedef uint16_t offset;
enum { LANES = 8 };

/* clang-format off */
#define LOAD_OFFSETS "vldrh.16 q0, [r11], #16\n"
#define LOAD_WEIGHTS(weights) "vldrb.s16 " weights ", [r5], #8\n"
#define GATHER(values, pixel) "vldrb.s16 " values ", [" pixel ", q0]\n"
#define ADVANCE "vadd.i16 q0, q0, r9\n"
#define MULTIPLY "vmladav.s16"
#define MULTIPLY_ADD "vmladava.s16"
/* clang-format on */
#include "gathered_taps.h"

#endif
