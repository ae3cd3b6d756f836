    .section .weights, "a", %progbits
    .balign 16
    .global toy_weights
toy_weights:
    .incbin "weights.bin"
    .section .note.GNU-stack, "", %progbits
