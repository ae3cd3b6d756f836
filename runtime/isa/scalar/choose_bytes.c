#include "cmrt/elementwise.h"

void cm_isa_choose_bytes(const uint8_t *condition, int32_t condition_step, struct cm_byte_operands bytes,
                         uint8_t *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        *out++ = *condition != 0 ? *bytes.lhs : *bytes.rhs;
        condition += condition_step;
        bytes.lhs += bytes.lhs_step;
        bytes.rhs += bytes.rhs_step;
    }
}
