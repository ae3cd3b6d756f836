#include "gate_functions.h"

/* x * 2^-(bits + 1): halving rounds up, the shift away from zero. */
static inline struct halves divide(struct halves x, int32_t bits)
{
    return (struct halves){rounding_shift_right(vrshrq_n_s32(x.even, 1), bits),
                           rounding_shift_right(vrshrq_n_s32(x.odd, 1), bits)};
}

/* What is added to fine cells may leave 16 bits. */
static inline int16x8_t clipped_sum(int16x8_t kept, struct halves added, int32_t limit)
{
    struct halves before = widen(kept);
    struct halves sum = {vaddq_s32(before.even, added.even), vaddq_s32(before.odd, added.odd)};
    int16x8_t next = vmaxq_s16(saturate(sum), vdupq_n_s16((int16_t)-limit));
    return vminq_s16(next, vdupq_n_s16((int16_t)limit));
}

static inline void lstm_step(const struct cm_lstm_step *step, int32_t is_clipped)
{
    const struct cm_gate_entry *table = step->table;
    int32_t units = step->units, left = CM_GATE_BITS - step->cell_bits;
    for (int32_t i = 0; i < units; i += 8) {
        const int16_t *gates = step->gates + i;
        int16_t *cell = step->cell + i;
        mve_pred16_t valid = vctp16q((uint32_t)(units - i));
        int16x8_t forget = sigmoid(table, vldrhq_z_s16(gates + units, valid));
        int16x8_t kept = saturate(divide(multiply(forget, vldrhq_z_s16(cell, valid)), 14));
        int16x8_t input = sigmoid(table, vldrhq_z_s16(gates, valid));
        int16x8_t fresh = hyperbolic_tangent(table, vldrhq_z_s16(gates + 2 * units, valid), 0);
        struct halves added = divide(multiply(input, fresh), 29 - step->cell_bits);
        int16x8_t next =
            is_clipped ? clipped_sum(kept, added, step->cell_limit) : vqaddq_s16(kept, saturate(added));
        vstrhq_p_s16(cell, next, valid);
        int16x8_t output = sigmoid(table, vldrhq_z_s16(gates + 3 * units, valid));
        int16x8_t shown =
            is_clipped && left < 0 ? fine_tangent(table, next, -left) : hyperbolic_tangent(table, next, left);
        narrow(&step->narrowing, multiply(output, shown), step->out + i, valid);
    }
}

void cm_isa_lstm_step_s8(const struct cm_lstm_step *step)
{
    lstm_step(step, 0);
}

void cm_isa_lstm_step_clipped_s8(const struct cm_lstm_step *step)
{
    lstm_step(step, 1);
}
