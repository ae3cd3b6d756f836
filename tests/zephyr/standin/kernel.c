/* In place of Zephyr's kernel and drivers, for QEMU's mps3-an547: from reset to main, a console by
   semihosting, an end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/shell/shell.h>
#include <zephyr/sys/printk.h>
#include <zephyr/timing/timing.h>

int main(void);
void standin_reset(void);
extern char standin_stack[], standin_bss_start[], standin_bss_end[];
extern char standin_data_start[], standin_data_end[], standin_data_load[];

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    standin_stack,
    standin_reset,
    standin_reset,
    standin_reset,
};

static void semihosting(unsigned int operation, const void *parameters)
{
    register unsigned int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameters;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

__attribute__((noreturn)) static void end(void)
{
    unsigned int parameters[] = {0x20026, 0};
    for (;;)
        semihosting(0x20, parameters);
}

static void start(void)
{
    memset(standin_bss_start, 0, (size_t)(standin_bss_end - standin_bss_start));
    memcpy(standin_data_start, standin_data_load, (size_t)(standin_data_end - standin_data_start));
    main();
    end();
}

__attribute__((naked)) void standin_reset(void)
{
    __asm__ volatile("ldr r0, =0xe000ed88 \n" /* CPACR */
                     "ldr r1, =0x00f00000 \n"
                     "str r1, [r0] \n"
                     "dsb \n"
                     "isb \n"
                     "b %c0" ::"i"(start));
}

/* newlib's printf may want memory; there is none. */
void *_sbrk(ptrdiff_t bytes);
void *_sbrk(ptrdiff_t bytes)
{
    (void)bytes;
    return (void *)-1;
}

void printk(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    semihosting(0x04, text);
}

struct shell {
    const char *prefix; /* of all lines */
};

void shell_fprintf(const struct shell *shell, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printk("%s%s\n", shell->prefix, text);
}

#ifdef CONFIG_CMBUILD_SHELL
extern const struct shell_static_entry shell_cmbuild;

static void type(char *command, char *model, char *sample)
{
    static const struct shell shell = {"shell: "};
    char *words[] = {command, model, sample};
    size_t count = model == NULL ? 1 : sample == NULL ? 2 : 3;
    for (const struct shell_static_entry *each = shell_cmbuild.subcmd; each->syntax != NULL; ++each)
        if (strcmp(each->syntax, command) == 0)
            printk("%s: %d\n", command, each->handler(&shell, count, words));
}

/* What a person would type once main sleeps. */
static void use_shell(void)
{
    type("info", NULL, NULL);
    type("run", NULL, NULL);
    type("run", "network", "1");
    type("run", "network", "77");
    type("run", "nothing", NULL);
}
#else
static void use_shell(void)
{
}
#endif

int k_sleep(k_timeout_t timeout)
{
    (void)timeout;
    use_shell();
    end();
}

static struct k_thread current = {{8192}};

struct k_thread *k_current_get(void)
{
    return &current;
}

int k_thread_stack_space_get(const struct k_thread *thread, size_t *unused)
{
    *unused = thread->stack_info.size / 2;
    return 0;
}

/* Time passes by 10 for each look. */
static uint32_t cycles;

uint32_t k_cycle_get_32(void)
{
    return cycles += 10;
}

int sys_clock_hw_cycles_per_sec(void)
{
    return 25000000;
}

void timing_init(void)
{
}

void timing_start(void)
{
}

timing_t timing_counter_get(void)
{
    return cycles += 10;
}

uint64_t timing_cycles_get(volatile timing_t *const begin, volatile timing_t *const finish)
{
    return *finish - *begin;
}

uint64_t timing_freq_get(void)
{
    return 25000000;
}
