/* Products with MVE, eight at a time. A rounding shift to the right by n, halves away from zero, is a
   doubling high multiply by 2^(31 - n) + 1. The 1 only moves halves away from zero: an input whose result is
   not clamped is below 2^(n + 9), so the 1 adds less than 2^(n - 22), which for n up to 11 is less than 2^-n,
   the distance to the next half. */
#include "cmrt/elementwise.h"

#define LOAD_RHS                                                                                             \
    "vldrb.s16 q1, [%[rhs]], #8\n"                                                                           \
    "vsub.i16 q1, q1, %[rhs_zero_point]\n"

/* q0 = eight results from lhs and q1; the load reaches eight bytes. */
#define MULTIPLY_EIGHT                                                                                       \
    "vldrb.s16 q0, [%[lhs]], #8\n"                                                                           \
    "vsub.i16 q0, q0, %[lhs_zero_point]\n"                                                                   \
    "vmullb.s16 q2, q0, q1\n"                                                                                \
    "vmullt.s16 q3, q0, q1\n"                                                                                \
    "vqrdmulh.s32 q2, q2, %[multiplier]\n"                                                                   \
    "vqrdmulh.s32 q3, q3, %[multiplier]\n"                                                                   \
    "vqrdmulh.s32 q2, q2, %[divider]\n"                                                                      \
    "vqrdmulh.s32 q3, q3, %[divider]\n"                                                                      \
    "vqmovnb.s32 q0, q2\n"                                                                                   \
    "vqmovnt.s32 q0, q3\n"                                                                                   \
    "vqadd.s16 q0, q0, %[zero_point]\n"                                                                      \
    "vqmovnb.s16 q0, q0\n"

#define MULTIPLY_ALL(load_rhs)                                                                               \
    "wls lr, %[blocks], 2f\n"                                                                                \
    "1:\n" load_rhs MULTIPLY_EIGHT "vstrb.16 q0, [%[out]], #8\n"                                             \
    "le lr, 1b\n"                                                                                            \
    "2:\n"                                                                                                   \
    "cbz %[rest], 3f\n" load_rhs MULTIPLY_EIGHT "vctp.16 %[rest]\n"                                          \
    "vpst\n"                                                                                                 \
    "vstrbt.16 q0, [%[out]]\n"                                                                               \
    "3:\n"

static void with_one(const struct cm_product *product, int32_t divider, const int8_t *lhs, int32_t rhs,
                     int8_t *out, int32_t count)
{
    __asm volatile(
        "vdup.16 q1, %[rhs]\n" MULTIPLY_ALL("")
        : [lhs] "+l"(lhs), [out] "+l"(out)
        : [rhs] "r"(rhs - product->rhs_zero_point), [lhs_zero_point] "r"(product->lhs_zero_point),
          [multiplier] "r"(product->output.multiplier), [divider] "r"(divider),
          [zero_point] "r"(product->output.zero_point), [blocks] "r"(count / 8), [rest] "l"(count % 8)
        : "q0", "q1", "q2", "q3", "lr", "memory");
}

static void with_each(const struct cm_product *product, int32_t divider, const int8_t *lhs, const int8_t *rhs,
                      int8_t *out, int32_t count)
{
    __asm volatile(
        MULTIPLY_ALL(LOAD_RHS)
        : [lhs] "+l"(lhs), [rhs] "+l"(rhs), [out] "+l"(out)
        : [rhs_zero_point] "r"(product->rhs_zero_point), [lhs_zero_point] "r"(product->lhs_zero_point),
          [multiplier] "r"(product->output.multiplier), [divider] "r"(divider),
          [zero_point] "r"(product->output.zero_point), [blocks] "r"(count / 8), [rest] "l"(count % 8)
        : "q0", "q1", "q2", "q3", "lr", "memory");
}

void cm_isa_mul_right_s8(const struct cm_product *product, const int8_t *lhs, const int8_t *rhs,
                         int32_t rhs_step, int8_t *out, int32_t count)
{
    int32_t right = -product->output.shift;
    int32_t divider = right == 0 ? INT32_MAX : (1 << (31 - right)) + 1;
    if (rhs_step == 0)
        with_one(product, divider, lhs, *rhs, out, count);
    else
        with_each(product, divider, lhs, rhs, out, count);
}
