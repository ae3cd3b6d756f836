/* What the boot ROM reads at the start of flash (i.MX RT1060 reference manual, "System Boot"): how to read the flash,
   then where the image is, which comes 8 KB behind. */
    .section .boot2, "a"
    .balign 1024
configuration: /* "FlexSPI configuration block" and "Serial NOR configuration block" */
    .word 0x42464346 /* FCFB */
    .word 0x56010000 /* version */
    .org configuration + 0x0c
    .byte 1 /* data is sampled by the clock's loopback from the DQS pad */
    .byte 3 /* clocks that the flash's selection is held */
    .byte 3 /* and set up before */
    .org configuration + 0x44
    .byte 1 /* serial NOR */
    .byte 4 /* data lines */
    .byte 4 /* 75 MHz, as this command may have with few wait states */
    .org configuration + 0x50
    .word 8 << 20 /* bytes of flash */
    .org configuration + 0x80 /* instructions to read: 16 bits each, its code, lines and operand */
    .hword 0x04eb /* command 0xeb on one line: fast read, four lines */
    .hword 0x0a18 /* address of 24 bits on four */
    .hword 0x1e00 /* 8 mode bits on four: the next access begins with its command again */
    .hword 0x3204 /* four clocks without data */
    .hword 0x2604 /* data on four lines */
    .hword 0
    .org configuration + 0x1c0
    .word 256     /* bytes of a page */
    .word 4 << 10 /* of a sector */
    .word 1       /* clock for commands: 30 MHz */
    .org configuration + 0x1d0
    .word 64 << 10 /* of a block */

    .org configuration + 0x1000
image: /* "Image Vector Table" */
    .word 0x432000d1 /* tag, 32 bytes, version */
    .word cm_vectors /* the image's vectors, or its first instruction */
    .word 0
    .word 0 /* no device configuration data */
    .word boot_data
    .word image
    .word 0 /* no signature */
    .word 0
boot_data:
    .word configuration
    .word cm_code_end - 0x60000000 /* bytes from there */
    .word 0                        /* no plug-in */

    .org configuration + 0x2000
