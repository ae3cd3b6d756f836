/* Zephyr as a board: its clock, and the stack of the calling thread. */
#include "cmrt/board.h"

#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>
#ifdef CONFIG_CMBUILD_TIMING
#include <zephyr/timing/timing.h>
#endif

LOG_MODULE_REGISTER(cmbuild, CONFIG_CMBUILD_LOG_LEVEL);

/* Counters may have 32 bits and wrap after seconds, so the time between readings is accumulated. */
static uint64_t total;

#ifdef CONFIG_CMBUILD_TIMING
static timing_t last;

static void start_clock(void)
{
    timing_init();
    timing_start();
    last = timing_counter_get();
}

static uint64_t passed(void)
{
    timing_t now = timing_counter_get();
    uint64_t cycles = timing_cycles_get(&last, &now);
    last = now;
    return cycles;
}

static uint64_t frequency(void)
{
    return timing_freq_get();
}
#else
static uint32_t last;

static void start_clock(void)
{
    last = k_cycle_get_32();
}

static uint64_t passed(void)
{
    uint32_t now = k_cycle_get_32(), cycles = now - last;
    last = now;
    return cycles;
}

static uint64_t frequency(void)
{
    return (uint64_t)sys_clock_hw_cycles_per_sec();
}
#endif

void cm_board_init(void)
{
    start_clock();
    unsigned int kilohertz = (unsigned int)(frequency() / 1000);
    ARG_UNUSED(kilohertz); /* without logging */
    LOG_INF("kernels for %s, clock of %u kHz", CONFIG_CMBUILD_ISA, kilohertz);
}

uint64_t cm_board_ticks(void)
{
    total += passed();
    return total;
}

struct cm_stack cm_board_stack(void)
{
    struct cm_stack stack = {0, 0};
#if defined(CONFIG_INIT_STACKS) && defined(CONFIG_THREAD_STACK_INFO)
    size_t unused;
    if (k_thread_stack_space_get(k_current_get(), &unused) == 0) {
        stack.size = (uint32_t)k_current_get()->stack_info.size;
        stack.used = stack.size - (uint32_t)unused;
    }
#endif
    return stack;
}
