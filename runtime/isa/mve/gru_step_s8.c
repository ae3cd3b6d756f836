#include "gate_functions.h"

void cm_isa_gru_step_s8(const struct cm_gru_step *step)
{
    const struct cm_gate_entry *table = step->table;
    int32_t units = step->units, right = 15 - step->state_bits;
    for (int32_t i = 0; i < units; i += 8) {
        const int16_t *gates = step->gates + i;
        int16_t *state = step->state + i;
        mve_pred16_t valid = vctp16q((uint32_t)(units - i));
        int16x8_t reset = sigmoid(table, vldrhq_z_s16(gates + units, valid));
        int16x8_t update = sigmoid(table, vldrhq_z_s16(gates + 2 * units, valid));
        int16x8_t from_state = vqrdmulhq_s16(reset, vldrhq_z_s16(gates + 3 * units, valid));
        int16x8_t fresh = vqaddq_s16(vldrhq_z_s16(gates, valid), from_state);
        fresh = hyperbolic_tangent(table, fresh, 0);
        /* 2^15 - update, which fits as update is positive. */
        struct halves new = multiply(vsubq_s16(vdupq_n_s16(INT16_MIN), update), fresh);
        struct halves sum = multiply(update, vldrhq_z_s16(state, valid));
        sum.even = vrshrq_n_s32(vaddq_s32(sum.even, vshlq_r_s32(new.even, -right)), 15);
        sum.odd = vrshrq_n_s32(vaddq_s32(sum.odd, vshlq_r_s32(new.odd, -right)), 15);
        vstrhq_p_s16(state, saturate(sum), valid);
        narrow(&step->narrowing, sum, step->out + i, valid);
    }
}
