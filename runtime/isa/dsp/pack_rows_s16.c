/* Rows of int16 as their product reads them: see gemm_s16.c. */
#include "two_by_four.h"

/* clang-format off */
__asm(CM_ASM_FUNCTION(cm_dsp_pack_two)
      "push {r4-r11, lr}\n"
      "ldr r11, [sp, #36]\n"
      "add r2, r1\n"
      "mov r8, #0\n"
      "mov r9, #0\n"
      "mov r10, #0x00010001\n"
      PACK_SHORTS
      "ldrd r4, r5, [r11]\n"
      "sub r4, r4, r8, lsl #7\n"
      "sub r5, r5, r9, lsl #7\n"
      "strd r4, r5, [r11]\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

void cm_isa_pack_rows_s16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes)
{
    const int32_t words = bytes / (int32_t)sizeof(uint32_t);
    uint32_t *const workspace = gemm->workspace;
    gemm->lhs = NULL;
    if (at == 0)
        workspace[0] = workspace[1] = 0;
    cm_dsp_pack_two(workspace + ROWS + ROWS * at / (int32_t)sizeof(uint32_t), in, stride, words, workspace);
}
