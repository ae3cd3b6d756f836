/* Addresses and fields: i.MX RT1060 reference manual, each block's "memory map and register definition";
   Armv7-M Architecture Reference Manual. */
#include "chip.h"

#include "cmrt/cycle_counter.h"
#include "cmrt/serial.h"

enum {
    CCM_CSCDR1 = 0x400fc024,
    CCM_CCGR3 = 0x400fc074,
    CCM_CCGR4 = 0x400fc078,
    USB_ANALOG_DIGPROG = 0x400d8260,
    MUX_AD_B0_02 = 0x401f80c4,
    MUX_AD_B0_03 = 0x401f80c8,
    PAD_AD_B0_02 = 0x401f82b4,
    PAD_AD_B0_03 = 0x401f82b8,
    LPUART6_RX_SELECT = 0x401f8550,
    AIRCR = 0xe000ed0c,
    CCR = 0xe000ed14,
    ICIALLU = 0xe000ef50,
};

enum { CORE_CLOCK = 396000000, UART_CLOCK = 24000000 /* of the crystal */ };

struct lpuart {
    volatile uint32_t version, parameters, global, pins, baud, status, control, data, match, modem, queues;
};
enum {
    RECEIVER_HAS_OVERRUN = 1 << 19,
    HAS_RECEIVED = 1 << 21,
    SENDER_HAS_ROOM = 1 << 23,
    RECEIVE = 1 << 18,
    SEND = 1 << 19,
    RECEIVER_QUEUE = 1 << 3,
    SENDER_QUEUE = 1 << 7,
};
static struct lpuart *const uart = (struct lpuart *)0x40198000;

static struct cm_cycles cycles;

/* From the link script. */
extern const uint8_t cm_serial_baud[];

static volatile uint32_t *at(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

bool chip_is_there(void)
{
    enum { ANY_REVISION = 0xffff0000, RT1060 = 0x006c0000 };
    return (*at(USB_ANALOG_DIGPROG) & ANY_REVISION) == RT1060;
}

void chip_start(void)
{
    *at(ICIALLU) = 0;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    *at(CCR) |= UINT32_C(1) << 17; /* IC: instruction cache */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    cm_cycle_counter_start();
}

/* The divisor is a product: samples of each bit, at most 32, and a divisor of the clock. */
static uint32_t divisor(uint32_t baud)
{
    uint32_t clocks = (UART_CLOCK + baud / 2) / baud;
    uint32_t samples = clocks <= 32 ? clocks : 16;
    return (samples - 1) << 24 | (clocks + samples / 2) / samples;
}

void chip_start_serial(void)
{
    enum { FROM_CRYSTAL = 1 << 6, DIVISOR = 0x3f };
    enum { LPUART6_GATE = 3 << 6, IOMUXC_GATE = 3 << 2 };
    enum { FUNCTION_UART = 2, PIN_0 = 1 };
    enum { SPEED = 2 << 6, DRIVE = 6 << 3, PULL_UP_22K = 3 << 14 | 1 << 13 | 1 << 12, HYSTERESIS = 1 << 16 };
    *at(CCM_CSCDR1) = (*at(CCM_CSCDR1) & ~(uint32_t)DIVISOR) | FROM_CRYSTAL;
    *at(CCM_CCGR3) |= LPUART6_GATE;
    *at(CCM_CCGR4) |= IOMUXC_GATE;
    *at(MUX_AD_B0_02) = FUNCTION_UART;
    *at(MUX_AD_B0_03) = FUNCTION_UART;
    *at(PAD_AD_B0_02) = SPEED | DRIVE;
    *at(PAD_AD_B0_03) = SPEED | DRIVE | PULL_UP_22K | HYSTERESIS; /* an open input reads as idle */
    *at(LPUART6_RX_SELECT) = PIN_0;
    uart->control = 0;
    uart->baud = divisor((uint32_t)(uintptr_t)cm_serial_baud);
    uart->queues = RECEIVER_QUEUE | SENDER_QUEUE;
    uart->control = SEND | RECEIVE;
}

uint64_t chip_cycles(void)
{
    return cm_cycles(&cycles);
}

void cm_serial_send(uint8_t byte)
{
    while ((uart->status & SENDER_HAS_ROOM) == 0) {
    }
    uart->data = byte;
}

bool cm_serial_receive(uint8_t *byte)
{
    uint32_t status = uart->status;
    if ((status & RECEIVER_HAS_OVERRUN) != 0)
        uart->status = RECEIVER_HAS_OVERRUN; /* cleared by writing 1; it receives nothing before */
    if ((status & HAS_RECEIVED) == 0)
        return false;
    *byte = (uint8_t)uart->data;
    return true;
}

uint32_t cm_serial_milliseconds(void)
{
    return (uint32_t)(chip_cycles() / (CORE_CLOCK / 1000));
}

void cm_serial_restart(void)
{
    enum { KEY = 0x05fa0000, SYSRESETREQ = 1 << 2 };
    __asm__ volatile("dsb" ::: "memory");
    *at(AIRCR) = KEY | SYSRESETREQ;
    for (;;) {
    }
}
