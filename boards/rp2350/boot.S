/* The block that the boot ROM searches for in the first 4 KB of flash (RP2350 datasheet, "Block loop structure" and
   "IMAGE_DEF items"): an executable for the Arm cores in secure state, entered through the vector table
   at the start of the image. */
    .section .boot, "a"
    .balign 4
    .word 0xffffded3 /* PICOBIN_BLOCK_MARKER_START */
    .word 0x10210142 /* one word of IMAGE_TYPE: executable, secure, Arm, RP2350 */
    .word 0x000001ff /* last item, after one word of items */
    .word 0          /* next block: this one itself */
    .word 0xab123579 /* PICOBIN_BLOCK_MARKER_END */
