#include "cmrt/copy.h"

/* Four elements at a time by gather and scatter, of bytes 0, step, 2 * step and 3 * step from the pointer. */
#define COPY(load, store)                                                                                    \
    __asm volatile("vidup.u32 q1, %[lane], #1\n"                                                             \
                   "vmul.i32 q2, q1, %[out_step]\n"                                                          \
                   "vmul.i32 q1, q1, %[in_step]\n"                                                           \
                   "dlstp.32 lr, %[count]\n"                                                                 \
                   "1:\n" load " q0, [%[in], q1]\n"                                                          \
                   "add %[in], %[in], %[in_step], lsl #2\n" store " q0, [%[out], q2]\n"                      \
                   "add %[out], %[out], %[out_step], lsl #2\n"                                               \
                   "letp lr, 1b\n"                                                                           \
                   : [in] "+r"(in), [out] "+r"(out), [lane] "+Te"(lane)                                      \
                   : [in_step] "r"(in_step), [out_step] "r"(out_step), [count] "r"(count)                    \
                   : "q0", "q1", "q2", "lr", "memory")

void cm_isa_copy_strided(const uint8_t *in, int32_t in_step, uint8_t *out, int32_t out_step, int32_t size,
                         int32_t count)
{
    uint32_t lane = 0;
    switch (size) {
    case 1:
        COPY("vldrb.u32", "vstrb.32");
        break;
    case 2:
        COPY("vldrh.u32", "vstrh.32");
        break;
    case 4:
        COPY("vldrw.u32", "vstrw.32");
        break;
    default:
        for (int32_t i = 0; i < count; ++i) {
            *(uint64_t *)out = *(const uint64_t *)in;
            in += in_step;
            out += out_step;
        }
        break;
    }
}
