/* Strided copies of byte blocks with MVE's tail predication: the loops. */
#ifndef COPY_BLOCKS_H
#define COPY_BLOCKS_H

#include <arm_mve.h>
#include <stdint.h>

enum {
    VECTOR = 16,
    TRIPLE = 3 * VECTOR,
    BY_COLUMNS = 4 /* so many long blocks are faster copied some bytes of each at a time */
};

/* clang-format off */
#define LOAD(vector, place) "vldrb.8 " vector ", [%[in], #" place "]\n"
#define STORE(vector, place) "vstrb.8 " vector ", [%[out], #" place "]\n"

/* Of each block the bytes up to `place`, by loads and stores, and up to 16 behind them. */
#define COPY_FUNCTION(name, place, LOADS, STORES) \
    static inline void name(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride, \
                            int32_t bytes, int32_t count) \
    { \
        __asm volatile("vctp.8 %[more]\n" \
                       "dls lr, %[count]\n" \
                       "1:\n" \
                       LOADS LOAD("q2", #place) \
                       "add %[in], %[in_stride]\n" \
                       STORES "vpst\n" \
                       "vstrbt.8 q2, [%[out], #" #place "]\n" \
                       "add %[out], %[out_stride]\n" \
                       "le lr, 1b\n" \
                       : [in] "+r"(in), [out] "+r"(out) \
                       : [more] "r"(bytes - (place)), [count] "r"(count), [in_stride] "r"(in_stride), \
                         [out_stride] "r"(out_stride) \
                       : "q0", "q1", "q2", "lr", "memory"); \
    }
COPY_FUNCTION(copy_short, 0, "", "")
COPY_FUNCTION(copy_pairs, 16, LOAD("q0", "0"), STORE("q0", "0"))
COPY_FUNCTION(copy_triples, 32, LOAD("q0", "0") LOAD("q1", "16"), STORE("q0", "0") STORE("q1", "16"))
/* clang-format on */

/* Blocks of a vector, two a turn. */
static inline void copy_vectors(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                                int32_t count)
{
    if (count % 2 != 0) {
        vstrbq_s8(out, vldrbq_s8(in));
        in += in_stride;
        out += out_stride;
    }
    __asm volatile("wls lr, %[pairs], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "add %[in], %[in_stride]\n"
                   "vldrb.8 q1, [%[in]]\n"
                   "add %[in], %[in_stride]\n"
                   "vstrb.8 q0, [%[out]]\n"
                   "add %[out], %[out_stride]\n"
                   "vstrb.8 q1, [%[out]]\n"
                   "add %[out], %[out_stride]\n"
                   "le lr, 1b\n"
                   "2:\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [pairs] "r"(count / 2), [in_stride] "r"(in_stride), [out_stride] "r"(out_stride)
                   : "q0", "q1", "lr", "memory");
}

static inline void copy_one(int8_t *out, const int8_t *in, int32_t bytes)
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

/* Of at least one byte and at least one block. */
static inline void copy_blocks(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                               int32_t bytes, int32_t count)
{
    if (bytes > TRIPLE && count < BY_COLUMNS) {
        for (; count > 0; --count, out += out_stride, in += in_stride)
            copy_one(out, in, bytes);
        return;
    }
    for (; bytes > TRIPLE - VECTOR; bytes -= TRIPLE, out += TRIPLE, in += TRIPLE)
        copy_triples(out, out_stride, in, in_stride, bytes, count);
    if (bytes == VECTOR)
        copy_vectors(out, out_stride, in, in_stride, count);
    else if (bytes > VECTOR)
        copy_pairs(out, out_stride, in, in_stride, bytes, count);
    else if (bytes > 0)
        copy_short(out, out_stride, in, in_stride, bytes, count);
}

#endif
