#include "cmrt/copy.h"

#define COPY(type)                                                                                           \
    for (int32_t i = 0; i < count; ++i) {                                                                    \
        *(type *)out = *(const type *)in;                                                                    \
        in += in_step;                                                                                       \
        out += out_step;                                                                                     \
    }

void cm_isa_copy_strided(const uint8_t *in, int32_t in_step, uint8_t *out, int32_t out_step, int32_t size,
                         int32_t count)
{
    switch (size) {
    case 1:
        COPY(uint8_t)
        break;
    case 2:
        COPY(uint16_t)
        break;
    case 4:
        COPY(uint32_t)
        break;
    default:
        COPY(uint64_t)
        break;
    }
}
