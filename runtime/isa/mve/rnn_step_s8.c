#include "gate_functions.h"

#include <stddef.h>

void cm_isa_rnn_step_s8(const int16_t *gates, const struct cm_gate_entry *table,
                        const struct cm_narrowing *narrowing, int8_t *out, int32_t units)
{
    for (int32_t i = 0; i < units; i += 8) {
        mve_pred16_t valid = vctp16q((uint32_t)(units - i));
        int16x8_t x = vldrhq_z_s16(gates + i, valid);
        x = table != NULL ? hyperbolic_tangent(table, x, 0) : vmaxq_s16(x, vdupq_n_s16(0));
        narrow(narrowing, widen(x), out + i, valid);
    }
}
