/* A copy of the constants of the first steps, among the variables and so in RAM, where not all have room. */
    .section .data.cm_hot_constants, "aw", %progbits
    .balign 16
    .global cm_hot_constants
    .type cm_hot_constants, %object
cm_hot_constants:
    .incbin "weights.bin", 0, CM_HOT_BYTES
    .size cm_hot_constants, . - cm_hot_constants

    .section .note.GNU-stack, "", %progbits
