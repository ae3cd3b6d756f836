/* Rows of int16 as their product reads them: see gemm_s16.c. */
#include "two_by_four.h"

/* So many words of two rows in turn; then the next ones, `step` bytes behind them, up to the end. Takes 128
   times the sums of the rows off two numbers. */
struct packing {
    uint32_t *out;
    const int8_t *row;
    int32_t stride, words;
    uint32_t *starts, *end;
    int32_t step;
};
void cm_dsp_pack_windows(const struct packing *packing);

/* clang-format off */
__asm(CM_ASM_FUNCTION(cm_dsp_pack_windows)
      "push {r4-r11, lr}\n"
      "mov r11, r0\n"
      "ldm r11!, {r0-r3}\n"
      "add r2, r1\n"
      "mov lr, r3\n"
      "mov r8, #0\n"
      "mov r9, #0\n"
      "mov r10, #0x00010001\n"
      "1:\n"
      PACK_SHORTS
      "ldrd r4, r5, [r11, #4]\n"
      "add r1, r5\n"
      "add r2, r5\n"
      "mov r3, lr\n"
      "cmp r0, r4\n"
      "bne 1b\n"
      "ldr r11, [r11]\n"
      "ldrd r4, r5, [r11]\n"
      "sub r4, r4, r8, lsl #7\n"
      "sub r5, r5, r9, lsl #7\n"
      "strd r4, r5, [r11]\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

void cm_isa_pack_rows_s16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes,
                          int32_t row_stride, int32_t depth)
{
    uint32_t *const workspace = gemm->workspace, *const out = workspace + ROWS + (at >> 1);
    const struct packing packing = {
        out, in, stride, bytes >> 2, workspace, out + (depth >> 1), row_stride - bytes,
    };
    gemm->lhs = NULL;
    if (at == 0)
        workspace[0] = workspace[1] = 0;
    cm_dsp_pack_windows(&packing);
}
