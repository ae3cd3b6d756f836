/* Functions of two bytes with the DSP extension, four at a time. */
#include "bytes.h"
#include "cmrt/elementwise.h"

static inline uint32_t apply(const struct cm_byte_function *f, int32_t kind, uint32_t a, uint32_t b)
{
    if (kind == CM_COMPARED) {
        uint32_t turn = ~(uint32_t)f->is_unsigned & (ONES << 7);
        uint32_t up = not_below(a ^ turn, b ^ turn), down = not_below(b ^ turn, a ^ turn);
        uint32_t order = (up & down & (uint32_t)f->when_equal) | (~down & (uint32_t)f->when_more);
        return (order | (~up & (uint32_t)f->when_less)) & ONES;
    }
    if (kind == CM_TRUE) {
        a = not_below(a, ONES) & ONES;
        b = not_below(b, ONES) & ONES;
    }
    return (a & b & (uint32_t)f->of_both) | ((a ^ b) & (uint32_t)f->of_one);
}

/* A loop for each kind. */
static inline void run(const struct cm_byte_function *function, int32_t kind, struct cm_byte_operands bytes,
                       uint8_t *out, int32_t count)
{
    const struct cm_byte_function f = *function;
    for (; count > 0; count -= 4, out += 4) {
        uint32_t a = take_bytes(&bytes.lhs, bytes.lhs_step, count);
        uint32_t b = take_bytes(&bytes.rhs, bytes.rhs_step, count);
        put_bytes(out, apply(&f, kind, a, b), count);
    }
}

void cm_isa_binary_bytes(const struct cm_byte_function *function, struct cm_byte_operands bytes, uint8_t *out,
                         int32_t count)
{
    if (function->kind == CM_COMPARED)
        run(function, CM_COMPARED, bytes, out, count);
    else if (function->kind == CM_TRUE)
        run(function, CM_TRUE, bytes, out, count);
    else
        run(function, CM_BITS, bytes, out, count);
}
