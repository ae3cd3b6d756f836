/* Four at a time; a shift is the lowest byte of its lane. */
#include "cmrt/elementwise.h"

/* clang-format off */
#define DIVIDE_ALL(load_dividends, load_divisors, product, shift) \
    "dlstp.32 lr, %[count]\n" \
    "1:\n" \
    load_dividends \
    load_divisors \
    "vmul.i32 q0, " product "\n" \
    "vrshl.s32 " shift "\n" \
    "vadd.i32 q0, q0, %[zero_point]\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vstrb.32 q0, [%[out]], #4\n" \
    "letp lr, 1b\n"

#define LOAD_DIVIDENDS \
    "vldrb.s32 q0, [%[lhs]], #4\n" \
    "vsub.i32 q0, q0, %[lhs_zero_point]\n"
#define LOAD_DIVISORS \
    "vldrb.u32 q2, [%[rhs]], #4\n" \
    "vldrw.u32 q1, [%[factors], q2, uxtw #2]\n" \
    "vshr.s32 q2, q1, #8\n"
/* clang-format on */

static void by_one(const struct cm_tabled_quotient *by, const int8_t *lhs, int32_t word, int8_t *out,
                   int32_t count)
{
    __asm volatile(DIVIDE_ALL(LOAD_DIVIDENDS, "", "q0, %[factor]", "q0, %[shift]")
                   : [lhs] "+l"(lhs), [out] "+l"(out)
                   : [lhs_zero_point] "r"(by->lhs_zero_point), [factor] "r"(word >> 8),
                     [shift] "r"((int8_t)word), [zero_point] "r"(by->zero_point), [count] "r"(count)
                   : "q0", "lr", "memory");
}

static void of_one(const struct cm_tabled_quotient *by, int32_t dividend, const int8_t *rhs, int8_t *out,
                   int32_t count)
{
    __asm volatile(DIVIDE_ALL("", LOAD_DIVISORS, "q2, %[dividend]", "q0, q0, q1")
                   : [rhs] "+l"(rhs), [out] "+l"(out)
                   : [dividend] "r"(dividend), [factors] "r"(by->factors), [zero_point] "r"(by->zero_point),
                     [count] "r"(count)
                   : "q0", "q1", "q2", "lr", "memory");
}

static void each(const struct cm_tabled_quotient *by, const int8_t *lhs, const int8_t *rhs, int8_t *out,
                 int32_t count)
{
    __asm volatile(DIVIDE_ALL(LOAD_DIVIDENDS, LOAD_DIVISORS, "q0, q2", "q0, q0, q1")
                   : [lhs] "+l"(lhs), [rhs] "+l"(rhs), [out] "+l"(out)
                   : [lhs_zero_point] "r"(by->lhs_zero_point), [factors] "r"(by->factors),
                     [zero_point] "r"(by->zero_point), [count] "r"(count)
                   : "q0", "q1", "q2", "lr", "memory");
}

void cm_isa_div_tabled_s8(const struct cm_tabled_quotient *quotient, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    if (rhs_step == 0)
        by_one(quotient, lhs, quotient->factors[(uint8_t)*rhs], out, count);
    else if (quotient->lhs_step == 0)
        of_one(quotient, *lhs - quotient->lhs_zero_point, rhs, out, count);
    else
        each(quotient, lhs, rhs, out, count);
}
