/* From reset to C: coprocessors, memory, vectors. Unexpected exceptions are reported as faults. */
#include "interrupts.h" /* the board's: CM_INTERRUPTS */
#include "protect.h"

    .syntax unified
    .thumb

    .section .vectors, "a"
    .balign 1024
    .global cm_vectors
cm_vectors:
    .word cm_stack_top
    .word cm_reset
    .rept 14 + CM_INTERRUPTS
    .word cm_fault
    .endr
    .global cm_vectors_end
cm_vectors_end:

/* Stores r2 to [r0, r1). */
    .macro fill
    b 2f
1:  str r2, [r0]
    adds r0, r0, #4
2:  cmp r0, r1
    blo 1b
    .endm

/* Copies sections from their load address. */
    .macro load what
    ldr r0, =cm_\what\()_start
    ldr r1, =cm_\what\()_end
    ldr r2, =cm_\what\()_load
    b 2f
1:  ldr r3, [r2]
    str r3, [r0]
    adds r2, r2, #4
    adds r0, r0, #4
2:  cmp r0, r1
    blo 1b
    .endm

/* Only on boards that run code from RAM. */
    .weak cm_hot_start, cm_hot_end, cm_hot_load

    .section .text.cm_reset, "ax"
    .global cm_reset
    .type cm_reset, %function
    .thumb_func
cm_reset:
    cpsid i
    ldr r0, =cm_stack_top
    mov sp, r0
    ldr r0, =0xe000ed08 /* VTOR */
    ldr r1, =cm_vectors
    str r1, [r0]
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    ldr r0, =0xe000ed88 /* CPACR: full access to CP10 and CP11, which C code may use */
    ldr r1, [r0]
    ldr r2, =0x00f00000
    orrs r1, r1, r2
    str r1, [r0]
#ifdef __ARM_FEATURE_MVE
    ldr r0, =0xe000ed14 /* CCR.LOB: the cache that makes branches of low-overhead loops free */
    ldr r1, [r0]
    orr r1, r1, #1 << 19
    str r1, [r0]
#endif
    dsb
    isb
#endif
#if CM_HAS_STACK_LIMIT
    ldr r0, =cm_stack_limit
    msr msplim, r0
#endif

    ldr r2, =0xa5a5a5a5 /* marks memory not yet written: shows the stack's depth, and uninitialised results */
    ldr r0, =cm_stack_limit
    mov r1, sp
    fill
    ldr r0, =cm_arena_start
    ldr r1, =cm_arena_end
    fill
    movs r2, #0
    ldr r0, =cm_bss_start
    ldr r1, =cm_bss_end
    fill
    load data
    load hot
    dsb
    isb

    bl cm_protect
    bl cm_board_init

    ldr r4, =cm_constructors /* C++ constructors; none in C images */
    ldr r5, =cm_constructors_end
    b 2f
1:  ldr r0, [r4]
    adds r4, r4, #4
    blx r0
2:  cmp r4, r5
    blo 1b

    bl cm_main
    bl cm_finish

/* Reports below the frame of the exception; on the stack's other end if there is no room, or no such frame. */
    .equ FAULT_STACK, 512
    .section .text.cm_fault, "ax"
    .global cm_fault
    .type cm_fault, %function
    .thumb_func
cm_fault:
    cpsid i
#if CM_HAS_STACK_LIMIT
    movs r0, #0
    msr msplim, r0
#endif
    mov r0, sp
    mov r1, lr
    ldr r2, =cm_stack_limit + FAULT_STACK
    ldr r3, =cm_stack_top
    cmp r0, r2
    blo 1f
    cmp r0, r3
    blo 2f
1:  mov sp, r3
2:
    b cm_report_fault
    .pool
