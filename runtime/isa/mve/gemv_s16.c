/* int16 gates of one int8 row with MVE: eight gates at a time. */
#include "cmrt/assembly.h"
#include "cmrt/gates.h"
#include "row_product.h"

#include <stddef.h>

/* Operands of the assembly. */
struct vector {
    const int8_t *weights; /* r1 */
    const int8_t *row;     /* r5 */
    int16_t *gates;        /* r7 */
    int32_t count;         /* r11 */
    struct loop loop;
};
_Static_assert(offsetof(struct vector, loop) == 16, "used in assembly");

void cm_mve_add_to_gates(const struct vector *vector);
/* clang-format off */
__asm(CM_ASM_FUNCTION(cm_mve_add_to_gates)
      "push {r4-r11, lr}\n"
      "vpush {d8-d9}\n"
      "sub sp, #12\n"
      "ldrd r2, r3, [r0, #16]\n"
      "adr.w r1, 2f\n"
      "add r3, r1\n"
      "add r3, #1\n" /* Thumb */
      "strd r2, r3, [sp]\n"
      "vmov.i32 q4, #0\n"
      "ldrd r1, r5, [r0]\n"
      "ldrd r7, r11, [r0, #8]\n"

      "1:\n"
      "ldr r9, [sp]\n"
      "mov r3, r5\n"
      MULTIPLY("vmladav.s8", "")
      "ldr pc, [sp, #4]\n"
      ".p2align 2\n"
      "2:\n"
      MULTIPLY("vmladava.s8", "")
      MULTIPLY("vmladava.s8", "")
      MULTIPLY("vmladava.s8", "")
      MULTIPLY("vmladava.s8", "subs.w r9, r9, #1\n")
      "bne.w 2b\n"

      "vmov q0[2], q0[0], r0, r4\n"
      "vmov q0[3], q0[1], r2, r6\n"
      "vmov q1[2], q1[0], r8, r12\n"
      "vmov q1[3], q1[1], r10, lr\n"
      "movs r4, #1\n"
      "vldrw.32 q2, [r1], #16\n"
      "vadd.i32 q0, q0, q2\n"
      RESCALE("q0")
      "vldrw.32 q2, [r1], #16\n"
      "vadd.i32 q1, q1, q2\n"
      RESCALE("q1")
      "add r1, #64\n"
      "vldrh.16 q2, [r7]\n"
      "vmovlb.s16 q3, q2\n"
      "vmovlt.s16 q2, q2\n"
      "vqadd.s32 q0, q0, q3\n"
      "vqadd.s32 q1, q1, q2\n"
      "vqmovnb.s32 q0, q0\n"
      "vqmovnt.s32 q0, q1\n"
      "vctp.16 r11\n"
      "vpst\n"
      "vstrht.16 q0, [r7], #16\n"
      "subs r11, #8\n"
      "bgt.w 1b\n"
      "add sp, #12\n"
      "vpop {d8-d9}\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);
/* clang-format on */

void cm_isa_gemv_s16(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                     void *workspace)
{
    (void)workspace;
    struct vector vector = {weights->packed, row, gates, weights->gates, loop_over(weights->depth)};
    cm_mve_add_to_gates(&vector);
}
