/* C's memcpy and memset with MVE's tail predication: 16 bytes at a time, at any address. */
#include "cmrt/assembly.h"

/* clang-format off */
__asm(".global memcpy\n"
      CM_ASM_FUNCTION(memcpy)
      "push {r0, lr}\n"
      "wlstp.8 lr, r2, 2f\n"
      "1:\n"
      "vldrb.8 q0, [r1], #16\n"
      "vstrb.8 q0, [r0], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      "pop {r0, pc}\n"
      CM_ASM_END);

__asm(".global memset\n"
      CM_ASM_FUNCTION(memset)
      "push {r0, lr}\n"
      "vdup.8 q0, r1\n"
      "wlstp.8 lr, r2, 2f\n"
      "1:\n"
      "vstrb.8 q0, [r0], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      "pop {r0, pc}\n"
      CM_ASM_END);
/* clang-format on */
