/* Copy of windows of an image. */
#include "cmrt/isa.h"
#include "copy_blocks.h"

enum { SIDE = 3 /* of windows that share pixels */ };

/* clang-format off */
/* Pairs of neighbouring windows of 3×3 pixels, a row of each: two of three pixels are in both and are loaded once.
   Patches are whole vectors, so it is known how far a pair's are apart, and where words begin. Pixels of 8 and 24
   bytes are copied by vectors that overlap, those of 16, 32 and 48 sixteen bytes of each at a time. */
#define LOAD_NEXT(vector, step) "vldrb.8 " vector ", [%[in]], #" step "\n"
#define LOAD_AT(vector, place) "vldrb.8 " vector ", [%[in], #" place "]\n"
#define STORE_NEXT(vector, step) "vstrw.32 " vector ", [%[out]], #" step "\n"
#define PATCH(pixel) "(" #pixel " * 9 + 15) / 16 * 16"
#define PAIRS_FUNCTION(pixel, COPIES) \
    static inline void copy_pairs_of_##pixel(int8_t *out, const int8_t *in, int32_t pairs) \
    { \
        __asm volatile("dls lr, %[pairs]\n" \
                       "1:\n" \
                       COPIES \
                       "le lr, 1b\n" \
                       : [in] "+r"(in), [out] "+r"(out) \
                       : [pairs] "r"(pairs) \
                       : "q0", "q1", "q2", "q3", "lr", "memory"); \
    }
#define SIXTEEN(pixel) \
    LOAD_NEXT("q0", #pixel) LOAD_NEXT("q1", #pixel) LOAD_AT("q3", #pixel) LOAD_AT("q2", "0") \
    STORE_NEXT("q0", #pixel) STORE_NEXT("q1", #pixel) STORE_NEXT("q2", PATCH(pixel) " - 2 * " #pixel) \
    STORE_NEXT("q1", #pixel) STORE_NEXT("q2", #pixel) STORE_NEXT("q3", PATCH(pixel) " - 2 * " #pixel)
PAIRS_FUNCTION(8,
    LOAD_NEXT("q0", "8") LOAD_NEXT("q1", "8") LOAD_AT("q2", "0")
    STORE_NEXT("q0", "8") STORE_NEXT("q1", PATCH(8) " - 8")
    STORE_NEXT("q1", "8") STORE_NEXT("q2", PATCH(8) " - 8"))
PAIRS_FUNCTION(16, SIXTEEN(16))
PAIRS_FUNCTION(24,
    LOAD_NEXT("q0", "48") LOAD_AT("q1", "-40") LOAD_AT("q2", "-24") LOAD_AT("q3", "-8")
    STORE_NEXT("q0", "8") LOAD_AT("q0", "8") STORE_NEXT("q1", "16")
    STORE_NEXT("q2", "16") STORE_NEXT("q3", "16") STORE_NEXT("q0", PATCH(24) " - 56")
    STORE_NEXT("q2", "16") LOAD_AT("q1", "24") LOAD_AT("q2", "32") STORE_NEXT("q3", "16")
    STORE_NEXT("q0", "16") STORE_NEXT("q1", "8") STORE_NEXT("q2", PATCH(24) " - 56"))
PAIRS_FUNCTION(32, SIXTEEN(32))
PAIRS_FUNCTION(48, SIXTEEN(48))
/* clang-format on */

/* The bytes of a pixel that windows share, or 0. */
static int32_t shared_pixel(const struct cm_windows *w)
{
    const uint32_t pixel = (uint32_t)w->in_stride, bytes = SIDE * pixel;
    const uint32_t patch = (SIDE * bytes + VECTOR - 1) / VECTOR * VECTOR;
    if ((uint32_t)w->bytes != bytes || (uint32_t)w->out_stride != patch ||
        (uintptr_t)w->out % sizeof(int32_t) != 0)
        return 0;
    return pixel == 8 || pixel == 16 || pixel == 24 || pixel == 32 || pixel == 48 ? (int32_t)pixel : 0;
}

static inline void copy_pairs_of(int8_t *out, const int8_t *in, int32_t pairs, int32_t pixel)
{
    switch (pixel) {
    case 16:
        copy_pairs_of_16(out, in, pairs);
        return;
    case 32:
        copy_pairs_of_32(out, in, pairs);
        copy_pairs_of_32(out + VECTOR, in + VECTOR, pairs);
        return;
    case 8:
        copy_pairs_of_8(out, in, pairs);
        return;
    case 24:
        copy_pairs_of_24(out, in, pairs);
        return;
    default:
        for (int32_t part = 0; part < 48; part += VECTOR)
            copy_pairs_of_48(out + part, in + part, pairs);
    }
}

/* Rows of up to 16 bytes. */
static inline void copy_short_rows(const struct cm_windows *w, int8_t *out, const int8_t *in,
                                   const int8_t *ring_end, int32_t bytes)
{
    if (in + (w->rows - 1) * w->in_step < ring_end) {
        copy_short(out, w->out_step, in, w->in_step, bytes, w->rows);
        return;
    }
    __asm volatile("vctp.8 %[bytes]\n"
                   "dls lr, %[rows]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "add %[in], %[in_step]\n"
                   "cmp %[in], %[ring_end]\n"
                   "it hs\n"
                   "subhs %[in], %[ring_bytes]\n"
                   "vpst\n"
                   "vstrbt.8 q0, [%[out]]\n"
                   "add %[out], %[out_step]\n"
                   "le lr, 1b\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [bytes] "r"(bytes), [rows] "r"(w->rows), [in_step] "r"(w->in_step),
                     [out_step] "r"(w->out_step), [ring_end] "r"(ring_end), [ring_bytes] "r"(w->ring_bytes)
                   : "q0", "lr", "cc", "memory");
}

/* All rows of window i. */
static __attribute__((noinline)) void copy_window(const struct cm_windows *w, int32_t i)
{
    const int32_t left = w->left + i * w->in_stride, before = left < 0 ? -left : 0,
                  after = w->row_bytes - left;
    const int32_t inside = (after < w->bytes ? after : w->bytes) - before;
    const int8_t *in = w->in + left + before;
    const int8_t *const ring_end = w->ring_end + left + before;
    int8_t *out = w->out + i * w->out_stride + before;
    if (inside <= VECTOR) {
        if (inside > 0)
            copy_short_rows(w, out, in, ring_end, inside);
        return;
    }
    for (int32_t rows = w->rows; rows > 0; --rows) {
        copy_one(out, in, inside);
        out += w->out_step;
        in += w->in_step;
        if (in >= ring_end)
            in -= w->ring_bytes;
    }
}

void cm_isa_copy_windows_s8(const struct cm_windows *w)
{
    const int32_t first = w->first, pixel = shared_pixel(w);
    int32_t end = w->end;
    if (pixel != 0)
        end -= (int32_t)((uint32_t)(end - first) % 2);
    else if (end - first <= w->rows)
        end = first;
    for (int32_t i = 0; i < first; ++i)
        copy_window(w, i);
    for (int32_t i = end; i < w->count; ++i)
        copy_window(w, i);
    const int32_t count = end - first, left = w->left + first * w->in_stride;
    if (count <= 0)
        return;
    const int8_t *in = w->in + left;
    int8_t *out = w->out + first * w->out_stride;
    for (int32_t rows = w->rows; rows > 0; --rows) {
        if (pixel != 0)
            copy_pairs_of(out, in, count / 2, pixel);
        else
            copy_blocks(out, w->out_stride, in, w->in_stride, w->bytes, count);
        out += w->out_step;
        in += w->in_step;
        if (in >= w->ring_end + left)
            in -= w->ring_bytes;
    }
}
