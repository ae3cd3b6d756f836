/* Functions that are written in assembly. */
#ifndef CMRT_ASSEMBLY_H
#define CMRT_ASSEMBLY_H

/* What precedes a function's body in __asm, in a section of its own, so that the linker can leave it out. The
   body ends with CM_ASM_END. */
#define CM_ASM_FUNCTION(name)                                                                                \
    ".section .text." #name ",\"ax\",%progbits\n"                                                            \
    ".syntax unified\n"                                                                                      \
    ".thumb\n"                                                                                               \
    ".thumb_func\n"                                                                                          \
    ".p2align 2\n"                                                                                           \
    ".global " #name "\n.type " #name ",%function\n" #name ":\n"

#define CM_ASM_END ".text\n"

#endif
