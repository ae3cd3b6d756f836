/* Turns bugs into faults: null pointers, stack overflow, division by zero. */
#include "protect.h"

#include <stddef.h>

extern const uint32_t cm_vectors_end[], cm_stack_limit[];

/* Defined by link scripts that place anything in the lowest 4 KB. */
extern const uint8_t cm_null_in_use[] __attribute__((weak));

/* Architecture reference manuals of Armv7-M and Armv8-M, "Configuration and Control Register". Bits that
   a core does not have are ignored. */
static volatile uint32_t *const configuration = (volatile uint32_t *)0xe000ed14;
enum { TRAP_DIVISION_BY_ZERO = 1 << 4 };

/* VTOR. A compiler assumes that the table itself is not at 0. */
static const volatile uint32_t *const vectors = (const volatile uint32_t *)0xe000ed08;

/* Architecture reference manuals, "Memory Protection Unit"; a core without one has no regions. Handlers
   of faults run without it, as HFNMIENA of MPU_CTRL is not set. */
struct mpu {
    const volatile uint32_t type;
    volatile uint32_t control, number, base, extent /* MPU_RASR, or MPU_RLAR of Armv8-M */;
};
static struct mpu *const mpu = (struct mpu *)0xe000ed90;
enum { REGIONS_SHIFT = 8, REGIONS_MASK = 0xff };
enum { ENABLE = 1, BACKGROUND = 4 /* PRIVDEFENA */ };

enum { NULL_BYTES = 4096 }; /* larger than any struct accessed through a null pointer */

#if __ARM_ARCH >= 8

enum { SMALLEST = 32, REGIONS_A_GUARD = 2 };

/* An address in two regions can be neither read, written nor executed: Armv8-M has no other way to deny
   privileged reads. */
static void deny(uint32_t guard, uintptr_t base, uint32_t bytes)
{
    enum { EXECUTE_NEVER = 1 };
    for (uint32_t i = 0; i < REGIONS_A_GUARD; ++i) {
        mpu->number = guard * REGIONS_A_GUARD + i;
        mpu->base = (uint32_t)base | EXECUTE_NEVER;
        mpu->extent = ((uint32_t)base + bytes - SMALLEST) | ENABLE;
    }
}

#else

enum { SMALLEST = __ARM_ARCH == 6 ? 256 : 32, REGIONS_A_GUARD = 1 };

/* A region without any permission. Its base is a multiple of its size. */
static void deny(uint32_t guard, uintptr_t base, uint32_t bytes)
{
    enum { EXECUTE_NEVER = 1 << 28, SIZE_SHIFT = 1 };
    uint32_t size = 0; /* 2^(size + 1) bytes */
    while (UINT32_C(2) << size < bytes)
        ++size;
    mpu->number = guard;
    mpu->base = (uint32_t)base;
    mpu->extent = EXECUTE_NEVER | size << SIZE_SHIFT | ENABLE;
}

#endif

/* With the vectors at 0, only they may be denied; the core itself still reads them. */
static uint32_t null_bytes(void)
{
    if (*vectors != 0)
        return cm_null_in_use == NULL ? NULL_BYTES : 0;
    uint32_t bytes = SMALLEST;
    while (2 * bytes <= (uintptr_t)cm_vectors_end)
        bytes *= 2;
    return bytes <= (uintptr_t)cm_vectors_end ? bytes : 0;
}

static void guard_memory(void)
{
    uint32_t regions = (mpu->type >> REGIONS_SHIFT) & REGIONS_MASK;
    if (regions < 2 * REGIONS_A_GUARD)
        return;
    uint32_t bytes = null_bytes();
    if (bytes > 0)
        deny(0, 0, bytes);
#if !CM_HAS_STACK_LIMIT
    deny(1, (uintptr_t)cm_stack_limit, CM_STACK_GUARD_BYTES);
#endif
    mpu->control = BACKGROUND | ENABLE;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

void cm_protect(void)
{
    *configuration |= TRAP_DIVISION_BY_ZERO;
    guard_memory();
}

const uint32_t *cm_stack_begin(void)
{
    if (CM_HAS_STACK_LIMIT || (mpu->control & ENABLE) == 0)
        return cm_stack_limit;
    return cm_stack_limit + CM_STACK_GUARD_BYTES / sizeof *cm_stack_limit;
}
