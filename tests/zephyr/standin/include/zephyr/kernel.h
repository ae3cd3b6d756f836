#pragma once
#include <stddef.h>
#include <stdint.h>

/* As CMSIS's headers, which come with Zephyr's. */
#if __ARM_ARCH == 8 && defined(__ARM_FEATURE_DSP) && !defined(CONFIG_ARMV8_M_DSP)
#error "Compiler generates DSP (SIMD) instructions for a core without DSP extensions"
#endif

#define ARG_UNUSED(x) (void)(x)

typedef struct {
    int64_t ticks;
} k_timeout_t;
#define K_FOREVER ((k_timeout_t){-1})

struct k_thread {
    struct {
        size_t size;
    } stack_info;
};

int k_sleep(k_timeout_t timeout);
struct k_thread *k_current_get(void);
int k_thread_stack_space_get(const struct k_thread *thread, size_t *unused);
uint32_t k_cycle_get_32(void);
int sys_clock_hw_cycles_per_sec(void);
