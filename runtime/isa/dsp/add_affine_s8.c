/* Sums of int8 numbers as a multiply-add of each with the DSP extension: four at a time. */
#include "cmrt/arithmetic.h"
#include "cmrt/assembly.h"
#include "cmrt/elementwise.h"

enum { FOUR = 4 };

/* The shift is plus 256 times the fours after the first one. */
void cm_dsp_add_affine(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs, int8_t *out);

/* clang-format off */
#define FOUR_BYTES(byte) \
    "bfi " byte ", " byte ", #8, #8\n" \
    "bfi " byte ", " byte ", #16, #16\n"

/* Two results in the lowest bytes of `sum`, of bytes of r0 and r8. ASR reads the lowest byte of r7 alone. */
#define ADD_TWO(sum, first, second) \
    "sxtb " sum ", r0, ror #" first "\n" \
    "sxtb r11, r0, ror #" second "\n" \
    "sxtb r10, r8, ror #" first "\n" \
    "sxtb r12, r8, ror #" second "\n" \
    "mla " sum ", " sum ", r4, r6\n" \
    "mla r11, r11, r4, r6\n" \
    "mla " sum ", r10, r5, " sum "\n" \
    "mla r11, r12, r5, r11\n" \
    "asr " sum ", " sum ", r7\n" \
    "asr r11, r11, r7\n" \
    "ssat " sum ", #8, " sum "\n" \
    "ssat r11, #8, r11\n" \
    "bfi " sum ", r11, #8, #24\n"

__asm(CM_ASM_FUNCTION(cm_dsp_add_affine)
      "push {r4-r11, lr}\n"
      "ldm r0, {r4-r9}\n"
      FOUR_BYTES("r8")
      FOUR_BYTES("r9")
      "push {r8, r9}\n"
      ".p2align 2\n"
      "1:\n"
      "ldr r0, [r1], #4\n"
      "ldr r8, [r2], #4\n"
      ADD_TWO("r9", "0", "8")
      ADD_TWO("lr", "16", "24")
      "ldrd r10, r11, [sp]\n"
      "pkhbt r9, r9, lr, lsl #16\n"
      "ssub8 r12, r9, r11\n"
      "sel r9, r11, r9\n"
      "subs r7, #256\n"
      "ssub8 r12, r9, r10\n"
      "sel r9, r9, r10\n"
      "str r9, [r3], #4\n"
      "bcs 1b\n"
      "pop {r10, r11}\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

void cm_isa_add_affine_s8(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    struct cm_affine by = *affine;
    if (rhs_step == 0) {
        by.offset += *rhs * by.rhs_factor;
        by.rhs_factor = 0;
        rhs = lhs;
    }
    /* The last ones first, from behind, as the others may take their inputs' places. */
    for (; count % FOUR != 0; --count) {
        const int32_t last = count - 1;
        const int32_t sum = lhs[last] * by.lhs_factor + rhs[last] * by.rhs_factor + by.offset;
        out[last] = (int8_t)cm_clamp(sum >> by.shift, by.minimum, by.maximum);
    }
    if (count > 0) {
        by.shift += (count / FOUR - 1) * 256;
        cm_dsp_add_affine(&by, lhs, rhs, out);
    }
}
