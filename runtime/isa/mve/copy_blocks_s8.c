/* Strided copy of byte blocks with MVE's tail predication. */
#include "cmrt/assembly.h"
#include "cmrt/isa.h"

#include <stdbool.h>

enum {
    VECTOR = 16,
    TRIPLE = 3 * VECTOR,
    SIDE = 3,      /* of windows that share pixels */
    BY_COLUMNS = 4 /* so many long blocks are faster copied some bytes of each at a time */
};

/* clang-format off */
#define LOAD(vector, place) "vldrb.8 " vector ", [%[in], #" place "]\n"
#define STORE(vector, place) "vstrb.8 " vector ", [%[out], #" place "]\n"

/* Of each block the bytes up to `place`, by loads and stores, and up to 16 behind them. */
#define COPY_FUNCTION(name, place, LOADS, STORES) \
    static void name(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride, int32_t bytes, \
                     int32_t count) \
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

/* Pairs of neighbouring windows of 3×3 pixels, a row of each: two of three pixels are in both and are loaded once.
   Patches are whole vectors, so it is known how far a pair's are apart, and where words begin. Pixels of 8 and 24
   bytes are copied by vectors that overlap, those of 16, 32 and 48 sixteen bytes of each at a time. */
#define LOAD_NEXT(vector, step) "vldrb.8 " vector ", [r1], #" step "\n"
#define LOAD_AT(vector, place) "vldrb.8 " vector ", [r1, #" place "]\n"
#define STORE_NEXT(vector, step) "vstrw.32 " vector ", [r0], #" step "\n"
#define LOOP(body) \
    "1:\n" \
    body \
    "le lr, 1b\n"
#define PATCH(pixel) "(" #pixel " * 9 + 15) / 16 * 16"
#define LOOP_OF(pixel) \
    LOOP(LOAD_NEXT("q0", #pixel) LOAD_NEXT("q1", #pixel) LOAD_AT("q3", #pixel) LOAD_AT("q2", "0") \
         STORE_NEXT("q0", #pixel) STORE_NEXT("q1", #pixel) STORE_NEXT("q2", PATCH(pixel) " - 2 * " #pixel) \
         STORE_NEXT("q1", #pixel) STORE_NEXT("q2", #pixel) STORE_NEXT("q3", PATCH(pixel) " - 2 * " #pixel))

/* Of windows that lie side by side, the first ones: how many it has copied, which is none for other pixels. */
int32_t cm_mve_copy_windows(int8_t *out, const int8_t *in, int32_t count, int32_t pixel);

__asm(CM_ASM_FUNCTION(cm_mve_copy_windows)
      "push {r4-r7, lr}\n"
      "lsrs r4, r2, #1\n"
      "dls lr, r4\n"
      "cmp r3, #24\n"
      "beq 24f\n"
      "cmp r3, #8\n"
      "beq 8f\n"
      "lsls r7, r3, #28\n"
      "bne 3f\n"
      "cmp r3, #48\n"
      "bhi 3f\n"
      "mov r5, r0\n"
      "mov r6, r1\n"
      "mov r7, r3\n"

      "2:\n"
      "dls lr, r4\n"
      "cmp r3, #32\n"
      "beq 32f\n"
      "bhi 48f\n"
      LOOP_OF(16)
      "b 5f\n"
      "32:\n"
      LOOP_OF(32)
      "b 4f\n"
      "48:\n"
      LOOP_OF(48)
      "4:\n"
      "adds r5, #16\n"
      "adds r6, #16\n"
      "mov r0, r5\n"
      "mov r1, r6\n"
      "subs r7, #16\n"
      "bne 2b\n"
      "b 5f\n"

      "8:\n"
      LOOP(LOAD_NEXT("q0", "8") LOAD_NEXT("q1", "8") LOAD_AT("q2", "0")
           STORE_NEXT("q0", "8") STORE_NEXT("q1", PATCH(8) " - 8")
           STORE_NEXT("q1", "8") STORE_NEXT("q2", PATCH(8) " - 8"))
      "b 5f\n"
      "3:\n"
      "movs r4, #0\n"
      "b 5f\n"
      "24:\n"
      LOOP(LOAD_NEXT("q0", "48") LOAD_AT("q1", "-40") LOAD_AT("q2", "-24") LOAD_AT("q3", "-8")
           STORE_NEXT("q0", "8") LOAD_AT("q0", "8") STORE_NEXT("q1", "16")
           STORE_NEXT("q2", "16") STORE_NEXT("q3", "16") STORE_NEXT("q0", PATCH(24) " - 56")
           STORE_NEXT("q2", "16") LOAD_AT("q1", "24") LOAD_AT("q2", "32") STORE_NEXT("q3", "16")
           STORE_NEXT("q0", "16") STORE_NEXT("q1", "8") STORE_NEXT("q2", PATCH(24) " - 56"))
      "5:\n"
      "lsls r0, r4, #1\n"
      "pop {r4-r7, pc}\n"
      CM_ASM_END);
/* clang-format on */

static bool are_windows(const int8_t *out, int32_t out_stride, int32_t pixel, int32_t bytes, int32_t count)
{
    return bytes == SIDE * pixel && out_stride == (SIDE * bytes + VECTOR - 1) / VECTOR * VECTOR &&
           count > 1 && (uintptr_t)out % sizeof(int32_t) == 0;
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

/* More than a vector of each; not inlined, so that short ones save no registers. */
static __attribute__((noinline)) void copy_long(int8_t *out, int32_t out_stride, const int8_t *in,
                                                int32_t in_stride, int32_t bytes, int32_t count)
{
    if (are_windows(out, out_stride, in_stride, bytes, count)) {
        int32_t copied = cm_mve_copy_windows(out, in, count, in_stride);
        out += copied * out_stride;
        in += copied * in_stride;
        count -= copied;
    }
    if (bytes > TRIPLE && count < BY_COLUMNS) {
        for (; count > 0; --count, out += out_stride, in += in_stride)
            copy_one(out, in, bytes);
        return;
    }
    if (count == 0)
        return;
    for (; bytes > TRIPLE - VECTOR; bytes -= TRIPLE, out += TRIPLE, in += TRIPLE)
        copy_triples(out, out_stride, in, in_stride, bytes, count);
    if (bytes > VECTOR)
        copy_pairs(out, out_stride, in, in_stride, bytes, count);
    else if (bytes > 0)
        copy_short(out, out_stride, in, in_stride, bytes, count);
}

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    if (count <= 0)
        return;
    if (bytes > VECTOR)
        copy_long(out, out_stride, in, in_stride, bytes, count);
    else if (bytes > 0)
        copy_short(out, out_stride, in, in_stride, bytes, count);
}
