/* The 256 bytes that the boot ROM copies from the start of flash to the end of RAM, checks and runs there (RP2040
   datasheet, "Flash second stage"): they make the QSPI interface read flash in place with the command 0x03,
   which every flash chip has (datasheet, "SSI"), and start the image at its vectors. */
    .syntax unified
    .thumb

    .section .boot2, "ax"
    .balign 256
    ldr r0, ssi
    movs r1, #0
    str r1, [r0, #0x08] /* SSIENR: off */
    movs r1, #4
    str r1, [r0, #0x14] /* BAUDR: a fourth of the core's clock */
    ldr r1, control
    str r1, [r0, #0x00] /* CTRLR0 */
    movs r1, #0
    str r1, [r0, #0x04] /* CTRLR1: one word at a time */
    ldr r2, spi_control_at
    ldr r1, spi_control
    str r1, [r2]        /* SPI_CTRLR0 */
    movs r1, #1
    str r1, [r0, #0x08] /* SSIENR: on */
    ldr r0, image
    ldr r1, vtor
    str r0, [r1]
    ldr r1, [r0]
    msr msp, r1
    ldr r1, [r0, #4]
    bx r1

    .balign 4
ssi:            .word 0x18000000
control:        .word 0x001f0300 /* frames of 32 bits, command and address first (EEPROM_READ) */
spi_control_at: .word 0x180000f4
spi_control:    .word 0x03000218 /* command 0x03 of 8 bits, address of 24 bits, one line each */
image:          .word cm_vectors
vtor:           .word 0xe000ed08
    .org 252, 0
    .word 0x0969eadd /* CRC-32 of the bytes before, neither reflected nor inverted at the end */
