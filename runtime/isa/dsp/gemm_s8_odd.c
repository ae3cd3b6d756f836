/* Products of windows whose rows end one byte beyond whole words, as those of 3x3 kernels over three channels
   do: four windows are paired from where they lie. */
#include "four_by_two.h"

/* clang-format off */
/* Four windows of three rows, of so many words: r4 and r5 are at the first and the third one's, r7 at the words of
   last bytes. Those of the rows are lower halves of even words, of odd ones, and upper halves of even ones. Goes on to
   the next windows. */
void cm_dsp_pair_odd_rows(uint32_t *out, const int8_t **rows, int32_t stride, int32_t words);
__asm(CM_ASM_FUNCTION(cm_dsp_pair_odd_rows)
      "push {r4-r11, lr}\n"
      "mov r12, #0x00ff00ff\n"
      "uadd8 r12, r12, r12\n" /* bytes that carry are those that SEL takes */
      "add r7, r3, r3, lsl #1\n"
      "add r7, r0, r7, lsl #4\n"
      "mov r6, #8\n"
      ".p2align 2\n"
      "1:\n"
      "ldr r4, [r1]\n"
      "mov lr, r3\n"
      "add r5, r4, r2, lsl #1\n"
      "add r12, r4, r2, lsl #2\n"
      "str.w r12, [r1], #4\n"
      "2:\n"
      "ldr r9, [r4, r2]\n"
      "ldr r8, [r4], #4\n"
      "ldr r11, [r5, r2]\n"
      "ldr r10, [r5], #4\n"
      "eor r8, #0x80808080\n"
      "lsl r12, r9, #8\n"
      "eor r10, #0x80808080\n"
      "sel r12, r8, r12\n"
      "lsr r8, r8, #8\n"
      "sel r8, r8, r9\n"
      "lsl r9, r11, #8\n"
      "str r12, [r0], #16\n"
      "sel r9, r10, r9\n"
      "lsr r10, r10, #8\n"
      "str r8, [r0, #-8]\n"
      "sel r10, r10, r11\n"
      "str r9, [r0, #-12]\n"
      "subs lr, #1\n"
      "str r10, [r0, #-4]\n"
      "bne.w 2b\n"
      "ldrb r8, [r4]\n"
      "ldrb r9, [r4, r2]\n"
      "ldrb r10, [r5]\n"
      "ldrb r11, [r5, r2]\n"
      "eor r8, #0x80\n"
      "eor r10, #0x80\n"
      "orr r8, r8, r9, lsl #8\n"
      "orr r10, r10, r11, lsl #8\n"
      "strh r8, [r7]\n"
      "strh r10, [r7, #4]\n"
      "add.w r7, r7, r6\n"
      "sub r6, #14\n" /* the second row's words lie 6 bytes back */
      "cmn r6, #34\n"
      "bne.w 1b\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

static void multiply_windows(const struct cm_gemm *gemm, struct cm_odd_rows *windows, strip_function *four,
                             int32_t weight_bytes, int32_t code)
{
    const struct loops loops = {.four_turn = FOUR_TURN, .four_code = code};
    const struct shape shape = shape_of(gemm, weight_bytes);
    int8_t *out = gemm->out;
    struct strip strip = {
        .row = gemm->workspace,
        .zero_point = gemm->output.zero_point,
        .out_stride = gemm->out_stride,
        .weights = gemm->weights,
        .weights_end = shape.weights_end,
    };
    begin_four(gemm, &shape, &loops, &strip);
    for (int32_t fours = gemm->rows / ROWS; fours > 0; --fours) {
        cm_dsp_pair_odd_rows(gemm->workspace, windows->rows, windows->stride, windows->bytes / DEPTHS);
        strip.out = out;
        multiply(gemm, &shape, four, &strip, ROWS);
        out += ROWS * gemm->out_stride;
    }
}

strip_function cm_dsp_multiply_four, cm_dsp_multiply_four_apart, cm_dsp_multiply_four_w16;

void cm_isa_gemm_s8_odd(const struct cm_gemm *gemm, struct cm_odd_rows *windows)
{
    multiply_windows(gemm, windows, cm_dsp_multiply_four, 8, FOUR_CODE);
}

void cm_isa_gemm_s8_odd_apart(const struct cm_gemm *gemm, struct cm_odd_rows *windows)
{
    multiply_windows(gemm, windows, cm_dsp_multiply_four_apart, 8, FOUR_APART_CODE);
}

void cm_isa_gemm_s8_odd_w16(const struct cm_gemm *gemm, struct cm_odd_rows *windows)
{
    multiply_windows(gemm, windows, cm_dsp_multiply_four_w16, 16, FOUR_CODE);
}
