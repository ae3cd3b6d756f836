#include "cmrt/assembly.h"
#include "cmrt/gates.h"

/* clang-format off */
__asm(".global cm_isa_filter_s16\n"
      CM_ASM_FUNCTION(cm_isa_filter_s16)
      "push {r4, lr}\n"
      "ldr r12, [sp, #8]\n"
      "wlstp.16 lr, r3, 2f\n"
      "1:\n"
      "vldrh.u16 q0, [r0], #16\n"
      "vldrh.u16 q1, [r2], #16\n"
      "vstrh.16 q0, [r1], #16\n"
      "vmladava.s16 r12, q0, q1\n"
      "letp lr, 1b\n"
      "2:\n"
      "mov r0, r12\n"
      "pop {r4, pc}\n"
      CM_ASM_END);
/* clang-format on */
