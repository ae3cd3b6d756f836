/* Strided copy of byte blocks with MVE's tail predication. */
#include "cmrt/isa.h"

enum { BY_COLUMNS = 4 /* so many blocks are faster copied 32 bytes of each at a time */ };

/* Blocks of up to 16 bytes: one predicated store each. */
static void copy_short(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride, int32_t bytes,
                       int32_t count)
{
    __asm volatile(
        "vctp.8 %[bytes]\n"
        "dls lr, %[count]\n"
        "1:\n"
        "vldrb.8 q0, [%[in]]\n"
        "vpst\n"
        "vstrbt.8 q0, [%[out]]\n"
        "add %[in], %[in_stride]\n"
        "add %[out], %[out_stride]\n"
        "le lr, 1b\n"
        : [in] "+r"(in), [out] "+r"(out)
        : [bytes] "r"(bytes), [count] "r"(count), [in_stride] "r"(in_stride), [out_stride] "r"(out_stride)
        : "q0", "lr", "memory");
}

/* The first 16 bytes of each block, and up to 16 of the `more` behind them. */
static void copy_long(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride, int32_t more,
                      int32_t count)
{
    __asm volatile(
        "vctp.8 %[more]\n"
        "dls lr, %[count]\n"
        "1:\n"
        "vldrb.8 q0, [%[in]]\n"
        "vldrb.8 q1, [%[in], #16]\n"
        "add %[in], %[in_stride]\n"
        "vstrb.8 q0, [%[out]]\n"
        "vpst\n"
        "vstrbt.8 q1, [%[out], #16]\n"
        "add %[out], %[out_stride]\n"
        "le lr, 1b\n"
        : [in] "+r"(in), [out] "+r"(out)
        : [more] "r"(more), [count] "r"(count), [in_stride] "r"(in_stride), [out_stride] "r"(out_stride)
        : "q0", "q1", "lr", "memory");
}

static void copy_one(int8_t *out, const int8_t *in, int32_t bytes)
{
    __asm volatile("dlstp.8 lr, %[bytes]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]], #16\n"
                   "vstrb.8 q0, [%[out]], #16\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [bytes] "r"(bytes)
                   : "q0", "lr", "memory");
}

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    if (bytes <= 0 || count <= 0)
        return;
    if (count >= BY_COLUMNS)
        for (; bytes > 16; bytes -= 32, out += 32, in += 32)
            copy_long(out, out_stride, in, in_stride, bytes - 16, count);
    if (bytes <= 0)
        return;
    if (bytes <= 16) {
        copy_short(out, out_stride, in, in_stride, bytes, count);
        return;
    }
    for (; count > 0; --count, out += out_stride, in += in_stride)
        copy_one(out, in, bytes);
}
