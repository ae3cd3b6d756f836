/* Strided copies. */
#ifndef CMRT_COPY_H
#define CMRT_COPY_H

#include <stdint.h>

#include "cmrt/microkernel.h"

/* Copies `count` elements of `size` bytes (1, 2, 4 or 8); steps in bytes, of either sign or 0. */
CM_MICROKERNEL void cm_isa_copy_strided(const uint8_t *in, int32_t in_step, uint8_t *out, int32_t out_step,
                                        int32_t size, int32_t count);

#endif
