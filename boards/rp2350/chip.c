/* Addresses and fields: RP2350 datasheet, "Address map" and each block's list of registers. */
#include "chip.h"

#include "cmrt/cycle_counter.h"
#include "cmrt/pl011.h"
#include "cmrt/serial.h"

/* Aliases of the APB registers, which change only the bits written as 1 ("Atomic register access"). */
enum { SET = 0x2000, CLEAR = 0x3000 };

enum {
    SYSINFO_CHIP_ID = 0x40000000,
    CLK_REF_CTRL = 0x40010030,
    CLK_REF_SELECTED = 0x40010038,
    CLK_SYS_CTRL = 0x4001003c,
    CLK_SYS_DIV = 0x40010040,
    CLK_SYS_SELECTED = 0x40010044,
    CLK_PERI_CTRL = 0x40010048,
    PSM_WDSEL = 0x40018008,
    RESETS_RESET = 0x40020000,
    RESETS_DONE = 0x40020008,
    GPIO0_CTRL = 0x40028004,
    GPIO1_CTRL = 0x4002800c,
    PAD_GPIO0 = 0x40038004,
    PAD_GPIO1 = 0x40038008,
    XOSC_CTRL = 0x40048000,
    XOSC_STATUS = 0x40048004,
    XOSC_STARTUP = 0x4004800c,
    PLL_SYS_CS = 0x40050000,
    PLL_SYS_PWR = 0x40050004,
    PLL_SYS_FBDIV = 0x40050008,
    PLL_SYS_PRIM = 0x4005000c,
    UART0 = 0x40070000,
    WATCHDOG_CTRL = 0x400d8000,
    WATCHDOG_LOAD = 0x400d8004,
    WATCHDOG_SCRATCH4 = 0x400d801c,
    TICKS_WATCHDOG_CTRL = 0x40108030,
    TICKS_WATCHDOG_CYCLES = 0x40108034,
};

/* "Subsystem resets", bits of RESETS_RESET. */
enum {
    RESET_IO_BANK0 = 1 << 6,
    RESET_PADS_BANK0 = 1 << 9,
    RESET_PLL_SYS = 1 << 14,
    RESET_SYSINFO = 1 << 21,
    RESET_UART0 = 1 << 26,
};

static struct cm_pl011 *const uart = (struct cm_pl011 *)UART0;

/* From the link script. */
extern const uint8_t cm_serial_baud[];

static volatile uint32_t *at(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

static void wait_for(uint32_t address, uint32_t bits)
{
    while ((*at(address) & bits) != bits) {
    }
}

static void release(uint32_t blocks)
{
    *at(RESETS_RESET + CLEAR) = blocks;
    wait_for(RESETS_DONE, blocks);
}

/* Reads CPUID first, which every core has: a simulator may raise a fault at any other address. */
bool chip_is_there(void)
{
    enum { CPUID = 0xe000ed00, CORTEX_M33_R1P0 = 0x411fd210 };
    enum { ANY_REVISION = 0x0fffffff, RP2350 = 0x00004927 };
    if (*at(CPUID) != CORTEX_M33_R1P0)
        return false;
    release(RESET_SYSINFO);
    return (*at(SYSINFO_CHIP_ID) & ANY_REVISION) == RP2350;
}

static void start_crystal(void)
{
    enum { RANGE_1_15_MHZ = 0xaa0, ENABLE = 0xfab << 12 };
    enum { STARTUP = 6 * 47 }; /* 6 ms, in 256 periods of 12 MHz */
    *at(XOSC_STARTUP) = STARTUP;
    *at(XOSC_CTRL) = RANGE_1_15_MHZ | ENABLE;
    wait_for(XOSC_STATUS, UINT32_C(1) << 31);
}

/* 12 MHz * 125 = 1500 MHz; / 5 / 2 = 150 MHz. */
static void start_pll(void)
{
    enum { POWER_DOWN = 1 << 0, POST_DIVIDER_DOWN = 1 << 3, VCO_DOWN = 1 << 5 };
    *at(RESETS_RESET + SET) = RESET_PLL_SYS;
    release(RESET_PLL_SYS);
    *at(PLL_SYS_CS) = 1; /* divider of the reference */
    *at(PLL_SYS_FBDIV) = 125;
    *at(PLL_SYS_PWR + CLEAR) = POWER_DOWN | VCO_DOWN;
    wait_for(PLL_SYS_CS, UINT32_C(1) << 31);
    *at(PLL_SYS_PRIM) = 5 << 16 | 2 << 12;
    *at(PLL_SYS_PWR + CLEAR) = POST_DIVIDER_DOWN;
}

/* "Clocks": a glitchless multiplexer selects one of a few sources, shown in SELECTED; the auxiliary
   multiplexer behind it may change only while it is not in use. */
static void start_clocks(void)
{
    enum { FROM_REF = 0, FROM_AUXILIARY = 1, FROM_CRYSTAL = 2, PERI_ENABLE = 1 << 11 };
    *at(CLK_SYS_CTRL + CLEAR) = FROM_AUXILIARY;
    wait_for(CLK_SYS_SELECTED, 1 << FROM_REF);
    start_crystal();
    *at(CLK_REF_CTRL) = FROM_CRYSTAL;
    wait_for(CLK_REF_SELECTED, 1 << FROM_CRYSTAL);
    start_pll();
    *at(CLK_SYS_DIV) = 1 << 16;
    *at(CLK_SYS_CTRL) = FROM_REF; /* auxiliary source 0: PLL_SYS */
    *at(CLK_SYS_CTRL) = FROM_AUXILIARY;
    wait_for(CLK_SYS_SELECTED, 1 << FROM_AUXILIARY);
    *at(CLK_PERI_CTRL) = PERI_ENABLE; /* auxiliary source 0: the system's clock */
}

static void start_watchdog(void)
{
    enum { EVERYTHING_BUT_OSCILLATORS = 0x01fffff3, ENABLE = 1 << 30 };
    *at(TICKS_WATCHDOG_CYCLES) = 12; /* a microsecond of clk_ref */
    *at(TICKS_WATCHDOG_CTRL) = 1;
    *at(PSM_WDSEL) = EVERYTHING_BUT_OSCILLATORS;
    *at(WATCHDOG_SCRATCH4) = 0; /* no special boot */
    chip_feed_watchdog();
    *at(WATCHDOG_CTRL + SET) = ENABLE;
}

static void start_uart(void)
{
    enum { FUNCTION_UART = 2 };
    enum { SCHMITT = 1 << 1, PULL_UP = 1 << 3, DRIVE_4_MA = 1 << 4, INPUT_ENABLE = 1 << 6 };
    release(RESET_IO_BANK0 | RESET_PADS_BANK0 | RESET_UART0);
    cm_pl011_start(uart, CHIP_CLOCK, (uint32_t)(uintptr_t)cm_serial_baud);
    *at(GPIO0_CTRL) = FUNCTION_UART;
    *at(GPIO1_CTRL) = FUNCTION_UART;
    /* Clears the isolation bit of a pad. An open input reads as idle. */
    *at(PAD_GPIO0) = SCHMITT | DRIVE_4_MA | INPUT_ENABLE;
    *at(PAD_GPIO1) = SCHMITT | DRIVE_4_MA | INPUT_ENABLE | PULL_UP;
}

void chip_start(void)
{
    start_clocks();
    start_watchdog();
    cm_cycle_counter_start();
    start_uart();
}

uint64_t chip_cycles(void)
{
    static struct cm_cycles cycles;
    return cm_cycles(&cycles);
}

void chip_feed_watchdog(void)
{
    *at(WATCHDOG_LOAD) = 0xffffff; /* microseconds */
}

void cm_serial_send(uint8_t byte)
{
    chip_feed_watchdog();
    cm_pl011_send(uart, byte);
}

bool cm_serial_receive(uint8_t *byte)
{
    chip_feed_watchdog();
    return cm_pl011_receive(uart, byte);
}

uint32_t cm_serial_milliseconds(void)
{
    return (uint32_t)(chip_cycles() / (CHIP_CLOCK / 1000));
}

void cm_serial_restart(void)
{
    for (;;)
        *at(WATCHDOG_CTRL + SET) = UINT32_C(1) << 31;
}
